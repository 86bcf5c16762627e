"""Whether it is safe to accept connections from other machines, and which settings are missing if not."""

from __future__ import annotations

from urllib.parse import urlsplit

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
        (
            any(origin.startswith("http://") for origin in settings.STARBOARD_EXTRA_ORIGINS),
            "STARBOARD_ORIGINS has an http:// URL, over which passwords and sessions can be read. Put a proxy that "
            "terminates TLS in front, and give its https:// URL.",
        ),
        (
            bool(settings.STARBOARD_EXTRA_ORIGINS) and not settings.STARBOARD_TRUSTED_PROXIES,
            "STARBOARD_TRUSTED_PROXIES is not set. Give the networks of the proxy that terminates TLS, such as "
            "172.16.0.0/12.",
        ),
        (
            _redis_is_open(settings.REDIS_URL),
            "REDIS_URL is on another machine and has no password. Whoever reaches it runs tasks here: set one, as in "
            "redis://:PASSWORD@HOST:6379/0",
        ),
        (settings.DEBUG, "STARBOARD_DEBUG is enabled. Unset it."),
    ]
    return [remedy for is_missing, remedy in wanted if is_missing]


def _redis_is_open(url: str) -> bool:
    parsed = urlsplit(url)
    return parsed.scheme in ("redis", "rediss") and not is_this_machine(parsed.hostname or "") and not parsed.password


def refuse_careless_exposure() -> None:
    """Raises `ImproperlyConfigured`; called before the server binds a port."""
    if found := missing():
        lines = "\n  ".join(found)
        raise ImproperlyConfigured(
            f"STARBOARD_BIND={settings.STARBOARD_BIND} accepts connections from other machines, which is not safe yet:"
            f"\n  {lines}\n"
            "Or unset STARBOARD_BIND to accept connections from this machine only."
        )
