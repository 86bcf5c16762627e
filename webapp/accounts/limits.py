"""How often a wrong password may be tried: per account and over all accounts.

Not per address: a proxy's header can be forged, and an attacker has many addresses. A locked account still opens with
a sign-in link, so nobody can be kept out of their own machine.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from webapp.accounts.models import FailedSignIn

PER_ACCOUNT, ACCOUNT_WINDOW = 5, timedelta(minutes=5)
OVER_ALL, OVERALL_WINDOW = 30, timedelta(minutes=1)
KEPT = timedelta(days=1)


def too_many(account: str) -> bool:
    now = timezone.now()
    failed = FailedSignIn.objects
    return (
        failed.filter(account=_key(account), at__gt=now - ACCOUNT_WINDOW).count() >= PER_ACCOUNT
        or failed.filter(at__gt=now - OVERALL_WINDOW).count() >= OVER_ALL
    )


def record_failure(account: str) -> None:
    FailedSignIn.objects.filter(at__lt=timezone.now() - KEPT).delete()
    FailedSignIn.objects.create(account=_key(account))


def forget(account: str) -> None:
    """After a right password."""
    FailedSignIn.objects.filter(account=_key(account)).delete()


def _key(account: str) -> str:
    return account.strip().casefold()[:150]
