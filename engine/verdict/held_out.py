"""Held-out success as the verdict needs it: the first evaluation, the newest, and the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from engine.statistics.proportions import difference_of_rates


class Evaluation(NamedTuple):
    """Success on held-out problems with its 95% interval."""

    success: float
    low: float
    high: float


@dataclass(slots=True)
class HeldOut:
    """Of one environment, oldest first."""

    first: Evaluation | None = None
    newest: Evaluation | None = None
    best: float = 0.0
    count: int = 0

    def add(self, evaluation: Evaluation) -> None:
        self.first = self.first or evaluation
        self.newest = evaluation
        self.best = max(self.best, evaluation.success)
        self.count += 1

    @property
    def has_risen(self) -> bool:
        """Whether the 95% interval of newest minus first success is above 0."""
        if self.first is None or self.newest is None or self.count < 2:
            return False
        newest, first = self.newest, self.first
        low, _ = difference_of_rates(newest.success, newest[1:], first.success, first[1:])
        return float(low) > 0
