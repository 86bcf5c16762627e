"""`steps=20` of a command line as a setting."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any

from starboard_client.errors import StarboardError


def overrides(texts: Iterable[str]) -> dict[str, Any]:
    """By dotted field."""
    return dict(map(_override, texts))


def _override(text: str) -> tuple[str, Any]:
    """The value is TOML, or plain text if it is not."""
    key, separator, raw = text.partition("=")
    if not separator:
        raise StarboardError(f"{text!r} has no '='. Write section.key=value.")
    try:
        return key, tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        return key, raw
