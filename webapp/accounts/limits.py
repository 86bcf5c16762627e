"""How often a wrong password may be tried: of an account from one address, from an address, and of an account at all.

So a stranger keeps neither others nor the owner of an account out: what is refused is their own address. Only the last
limit is for all, and takes ten addresses to reach. An address is that of the connection, since a proxy's header can be
forged: behind a proxy everybody has the proxy's, and all limits are for all. A sign-in link has no limit.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import IPv6Address, ip_address

from django.utils import timezone

from webapp.accounts.models import FailedSignIn

OF_ACCOUNT_FROM_ADDRESS, OF_ACCOUNT, ACCOUNT_WINDOW = 5, 50, timedelta(minutes=5)
FROM_ADDRESS, ADDRESS_WINDOW = 30, timedelta(minutes=1)
KEPT = timedelta(days=1)


def too_many(account: str, address: str) -> bool:
    now = timezone.now()
    of_account = FailedSignIn.objects.filter(account=_key(account), at__gt=now - ACCOUNT_WINDOW)
    from_address = FailedSignIn.objects.filter(address=_network(address), at__gt=now - ADDRESS_WINDOW)
    return (
        of_account.filter(address=_network(address)).count() >= OF_ACCOUNT_FROM_ADDRESS
        or of_account.count() >= OF_ACCOUNT
        or from_address.count() >= FROM_ADDRESS
    )


def record_failure(account: str, address: str) -> None:
    FailedSignIn.objects.filter(at__lt=timezone.now() - KEPT).delete()
    FailedSignIn.objects.create(account=_key(account), address=_network(address))


def forget(account: str, address: str) -> None:
    """After a right password; what others tried elsewhere still counts."""
    FailedSignIn.objects.filter(account=_key(account), address=_network(address)).delete()


def _key(account: str) -> str:
    return account.strip().casefold()[:150]


def _network(address: str) -> str:
    """One machine has many IPv6 addresses, of which the first half is the same."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else address
