"""Parses whole numbers from URLs and forms."""

from __future__ import annotations


def whole_number(text: str) -> int | None:
    """The number, if `text` is ASCII digits that fit a database column; None for anything else, such as "²"."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
