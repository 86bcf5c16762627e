"""Whether this installation may be reached from other machines, and what is missing if it may not."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def missing() -> list[str]:
    """What has to be set before other machines may be let in; nothing for loopback."""
    if is_loopback(settings.STARBOARD_BIND):
        return []
    wanted = [
        (settings.SECRET_KEY_GIVEN == "", "SECRET_KEY is not set: give one of at least 50 random characters."),
        (0 < len(settings.SECRET_KEY_GIVEN) < 50, "SECRET_KEY is short: give at least 50 random characters."),
        (
            not settings.STARBOARD_EXTRA_ORIGINS,
            "STARBOARD_ORIGINS is not set: name the addresses in browsers, as in https://starboard.example.org",
        ),
        (
            settings.STARBOARD_SIGN_IN_LINKS,
            "Sign-in links are on: set STARBOARD_SIGN_IN_LINKS=0 and make users with `manage.py create_user NAME`.",
        ),
        (settings.DEBUG, "STARBOARD_DEBUG is on: unset it."),
    ]
    return [remedy for is_missing, remedy in wanted if is_missing]


def refuse_careless_exposure() -> None:
    """Raises before a port is taken."""
    if found := missing():
        lines = "\n  ".join(found)
        raise ImproperlyConfigured(
            f"STARBOARD_BIND={settings.STARBOARD_BIND} lets other machines in, and that is not safe yet:\n  {lines}\n"
            "Or unset STARBOARD_BIND to listen on this machine only."
        )
