"""Held-out success as the verdict needs it: the first evaluation, the newest, and the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
        """Whether the newest interval lies above the first success."""
        return (
            self.count > 1
            and self.first is not None
            and self.newest is not None
            and (self.newest.low > self.first.success)
        )
