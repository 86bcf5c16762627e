"""Metrics of a trainer elsewhere: names and finite numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.foreign.refused import SHOWN, Refused

MOST_METRICS = 2000  # of a step
LONGEST_NAME = 200
NOT_FINITE = {"NaN", "Infinity", "-Infinity"}  # JSON has no numbers for them


def read_metrics(data: dict[str, Any], names: Mapping[str, str]) -> tuple[dict[str, float], int]:
    """Those with a finite value, and how many have none. A name in `names` becomes ours, unless ours was sent too."""
    given = data.get("metrics")
    if not isinstance(given, dict):
        raise Refused("metrics must be an object of names and numbers.")
    found: dict[str, float] = {}
    dropped = 0
    for name, value in given.items():
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise Refused(f"The name {name[:SHOWN]!r} must have 1 to {LONGEST_NAME} printable characters.")
        if value in NOT_FINITE if isinstance(value, str) else value is None:
            dropped += 1
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(f"The value of {name[:SHOWN]!r} is {str(value)[:SHOWN]!r}; it must be a number.")
        elif not math.isfinite(number := _float(value)):
            dropped += 1
        elif (ours := names.get(name, name)) == name or ours not in given:
            found[ours] = number
    return found, dropped


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # of an integer
        return math.inf
