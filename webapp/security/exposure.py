"""Whether it is safe to accept connections from other machines, and which settings are missing if not."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from engine.addresses import is_this_machine


def missing() -> list[str]:
    """The settings to change before listening on an address other than loopback; empty if none."""
    if is_this_machine(settings.STARBOARD_BIND.strip("[]")):
        return []
    wanted = [
        (settings.SECRET_KEY_GIVEN == "", "SECRET_KEY is not set. Use at least 50 random characters."),
        (0 < len(settings.SECRET_KEY_GIVEN) < 50, "SECRET_KEY is too short. Use at least 50 random characters."),
        (
            not settings.STARBOARD_EXTRA_ORIGINS,
            "STARBOARD_ORIGINS is not set. List the URLs of the site, for example https://starboard.example.org",
        ),
        (
            settings.STARBOARD_SIGN_IN_LINKS,
            "Sign-in links are enabled. Set STARBOARD_SIGN_IN_LINKS=0 and use `manage.py create_user NAME`.",
        ),
        (settings.DEBUG, "STARBOARD_DEBUG is enabled. Unset it."),
    ]
    return [remedy for is_missing, remedy in wanted if is_missing]


def refuse_careless_exposure() -> None:
    """Raises `ImproperlyConfigured`; called before the server binds a port."""
    if found := missing():
        lines = "\n  ".join(found)
        raise ImproperlyConfigured(
            f"STARBOARD_BIND={settings.STARBOARD_BIND} accepts connections from other machines, which is not safe yet:"
            f"\n  {lines}\n"
            "Or unset STARBOARD_BIND to accept connections from this machine only."
        )
