"""Whole numbers that an address or a form gives as text."""

from __future__ import annotations


def whole_number(text: str) -> int | None:
    """From ASCII digits that a column can hold; None for all else, as "²" and the 5,000 digits that `int` refuses."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
