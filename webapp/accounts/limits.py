"""Limits for failed sign-ins: per account and address, per address, and per account.

An attacker therefore blocks only their own address, not the owner of an account. Only the limit per account affects
everybody, and it takes ten addresses to reach. Behind a proxy that is not trusted all users share its address, and so
the limits. Sign-in links are not limited.

An attempt is recorded before its password is checked, so that many at the same time cannot pass each other.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import IPv6Address, ip_address

from django.utils import timezone

from webapp.accounts.models import FailedSignIn

OF_ACCOUNT_FROM_ADDRESS, OF_ACCOUNT, ACCOUNT_WINDOW = 5, 50, timedelta(minutes=5)
FROM_ADDRESS, ADDRESS_WINDOW = 30, timedelta(minutes=1)
KEPT = timedelta(days=1)


def admit(account: str, address: str) -> bool:
    """Records an attempt, which counts as failed until `forget`; False, and not recorded, if there were too many."""
    FailedSignIn.objects.filter(at__lt=timezone.now() - KEPT).delete()
    attempt = FailedSignIn.objects.create(account=_key(account), address=_network(address))
    if _too_many(account, address):
        attempt.delete()
        return False
    return True


def _too_many(account: str, address: str) -> bool:
    now = timezone.now()
    of_account = FailedSignIn.objects.filter(account=_key(account), at__gt=now - ACCOUNT_WINDOW)
    from_address = FailedSignIn.objects.filter(address=_network(address), at__gt=now - ADDRESS_WINDOW)
    return (
        of_account.filter(address=_network(address)).count() > OF_ACCOUNT_FROM_ADDRESS
        or of_account.count() > OF_ACCOUNT
        or from_address.count() > FROM_ADDRESS
    )


def forget(account: str, address: str) -> None:
    """Called after a successful sign-in; failures from other addresses still count."""
    FailedSignIn.objects.filter(account=_key(account), address=_network(address)).delete()


def _key(account: str) -> str:
    return account.strip().casefold()[:150]


def _network(address: str) -> str:
    """The address, or the /64 network of an IPv6 address, since one machine usually has a whole one."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else address
