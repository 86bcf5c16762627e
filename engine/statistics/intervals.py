"""An interval estimate."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    low: float
    high: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high
