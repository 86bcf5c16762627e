"""Typed readers of environment variables. An invalid value is an error that names the variable and the fix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def text(name: str, default: str = "") -> str:
    """The stripped value; an empty variable counts as not set."""
    return os.environ.get(name, "").strip() or default


def integer(name: str, default: int, *, low: int, high: int) -> int:
    given = text(name, str(default))
    if not given.isascii() or not given.isdigit() or not low <= int(given) <= high:
        raise ImproperlyConfigured(f"{name} is {given!r}. Give a whole number from {low} to {high}, or unset it.")
    return int(given)


def limit(name: str) -> int | None:
    """A whole number, or None if the variable is not set."""
    return integer(name, 0, low=0, high=1_000_000_000) if text(name) else None


def flag(name: str, default: bool) -> bool:
    given = text(name, str(default)).lower()
    if given not in _TRUE | _FALSE:
        raise ImproperlyConfigured(f"{name} is {given!r}. Give 1 or 0, or unset it for {int(default)}.")
    return given in _TRUE


def choice(name: str, allowed: Sequence[str]) -> str:
    """One of those that are allowed, the first by default."""
    given = text(name, allowed[0])
    if given not in allowed:
        raise ImproperlyConfigured(f"{name} is {given!r}. Give {' or '.join(allowed)}, or unset it for {allowed[0]}.")
    return given


def comma_separated(name: str) -> list[str]:
    """A list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def networks(name: str) -> list[str]:
    """A list of networks such as `10.0.0.0/8`, separated by commas."""
    given = comma_separated(name)
    for one in given:
        try:
            ip_network(one, strict=False)
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} has {one!r}, which is not a network. Give networks such as 10.0.0.0/8, separated by commas, "
                "or unset it."
            ) from None
    return given


def path(name: str, default: Path) -> Path:
    return Path(text(name, str(default))).expanduser().absolute()


def paths(name: str, default: Path) -> list[Path]:
    """Folders separated by commas."""
    return [Path(one).expanduser().absolute() for one in comma_separated(name)] or [default]


def price(name: str) -> float | None:
    """An amount of money, or None if the variable is not set."""
    given = text(name)
    if not given:
        return None
    try:
        amount = float(given)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e9:
        raise ImproperlyConfigured(f"{name} is {given!r}. Give an amount such as 2.50, or unset it.")
    return amount
