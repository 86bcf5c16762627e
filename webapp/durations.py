"""Durations in words, as estimates need them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """About: "40 s", "12 min", "2 h 10 min"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(round(minutes, -1), 60)
    return f"{hours} h {rest} min" if rest and hours < 24 else f"{hours} h"
