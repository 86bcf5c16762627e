"""Hosts and origins in a normal form for comparison: lower case, always with a port."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_PORTS = {"http": 80, "https": 443}


def authority(text: str, default_port: int) -> str | None:
    """`name:port` of the value of a Host header, or None if it is not a host with an optional port."""
    if not text.isascii() or not text.isprintable() or any(sign in text for sign in " ,/\\@?#%*"):
        return None
    try:
        parts = urlsplit(f"//{text}")
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name or text.endswith(":"):
        return None
    return f"[{name}]:{port or default_port}" if ":" in name else f"{name}:{port or default_port}"


def origin(text: str) -> str | None:
    """`scheme://name:port` of an Origin header's value; None for `null`, a path, or anything else."""
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in DEFAULT_PORTS or not (host := authority(rest, DEFAULT_PORTS[scheme])):
        return None
    return f"{scheme}://{host}"


def trusted_origins(port: int, given: Iterable[str]) -> frozenset[str]:
    """Loopback on our port, and the origins of `STARBOARD_ORIGINS`."""
    return frozenset(f"http://{name}:{port}" for name in LOOPBACK_NAMES) | {_known(text) for text in given}


def trusted_hosts(port: int, given: Iterable[str], origins: Iterable[str]) -> frozenset[str]:
    """The hosts of all trusted origins and of `STARBOARD_HOSTS`, which is for other clients (health checks)."""
    extra = {_host(text, port) for text in given}
    return frozenset(one.partition("://")[2] for one in origins) | extra


def _known(text: str) -> str:
    if (found := origin(text.rstrip("/"))) is None:
        raise ImproperlyConfigured(
            f"STARBOARD_ORIGINS has {text!r}. Give scheme, host and port as shown in a browser, "
            "for example https://starboard.example.org"
        )
    return found


def _host(text: str, port: int) -> str:
    if (found := authority(text, port)) is None:
        raise ImproperlyConfigured(
            f"STARBOARD_HOSTS has {text!r}. Give hosts as name or name:port, separated by commas."
        )
    return found
