"""Held-out success as the verdict needs it: the first evaluation, the newest, and the best."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.diagnostics.held_out import held_out_metrics
from engine.events import EvaluationCompleted
from engine.statistics.proportions import difference_of_rates


class Evaluation(NamedTuple):
    """Success on held-out problems with its 95% interval, after a step."""

    success: float
    low: float
    high: float
    step: int = 0


@dataclass(slots=True)
class HeldOut:
    """Of one environment, oldest first. `best` has the highest lower end."""

    first: Evaluation | None = None
    newest: Evaluation | None = None
    best: Evaluation | None = None
    count: int = 0

    def add(self, evaluation: Evaluation) -> None:
        self.first = self.first or evaluation
        self.newest = evaluation
        if self.best is None or evaluation.low > self.best.low:
            self.best = evaluation
        self.count += 1

    @property
    def has_risen(self) -> bool:
        """Whether the 95% interval of newest minus first success is above 0."""
        if self.first is None or self.newest is None or self.count < 2:
            return False
        return _change(self.newest, self.first)[0] > 0

    @property
    def fell_from(self) -> Evaluation | None:
        """The best evaluation, or else the first, if the 95% interval of newest minus its success is below 0."""
        for before in (self.best, self.first):
            if before is not None and self.newest is not None and _change(self.newest, before)[1] < 0:
                return before
        return None


@dataclass(slots=True)
class PooledEvaluation:
    """The newest evaluation, whose events come one by one, as the metrics that alert rules read."""

    events: list[EvaluationCompleted] = field(default_factory=list)

    def add(self, event: EvaluationCompleted) -> dict[str, float]:
        same = [one for one in self.events if (one.step, one.final) == (event.step, event.final)]
        self.events = [*same, event]
        return held_out_metrics(self.events)


def _change(newest: Evaluation, before: Evaluation) -> tuple[float, float]:
    low, high = difference_of_rates(newest.success, newest[1:3], before.success, before[1:3])
    return float(low), float(high)
