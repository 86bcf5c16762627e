"""The steps that a label is read from, in bounded memory: the first ten, the newest twenty, and the best windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from engine.verdict.thresholds import SHOWN_STEPS, TREND_STEPS

Metrics = dict[str, float]

SUCCESS = "rollout/success"
REWARD_STD, SCORE_STD = "reward/within_group_std", "reward/within_group_score_std"
PARSE_OK = "rollout/parse_ok_rate"
SKIPPED, GRAD_NORM = "optim/skipped_updates", "optim/grad_norm"
METRICS = (SUCCESS, REWARD_STD, SCORE_STD, PARSE_OK, SKIPPED, GRAD_NORM)


@dataclass(slots=True)
class Course:
    """`best` has the highest mean of three steps in a row of each metric; of fewer steps it is the mean of all."""

    first: list[Metrics] = field(default_factory=list)
    newest: deque[Metrics] = field(default_factory=lambda: deque(maxlen=2 * TREND_STEPS))
    best: Metrics = field(default_factory=dict)
    steps: int = 0

    def add(self, metrics: Metrics) -> None:
        picked = {name: metrics[name] for name in METRICS if name in metrics}
        if self.steps < TREND_STEPS:
            self.first.append(picked)
        self.newest.append(picked)
        self.steps += 1
        window = list(self.newest)[-SHOWN_STEPS:]
        means = {name: value for name in METRICS if (value := mean_of(window, name)) is not None}
        if self.steps <= SHOWN_STEPS:
            self.best = means
        else:
            self.best |= {name: max(value, self.best.get(name, value)) for name, value in means.items()}

    @property
    def recent(self) -> list[Metrics]:
        """The newest ten steps."""
        return list(self.newest)[-TREND_STEPS:]

    @property
    def is_short(self) -> bool:
        """Whether the first and the newest ten steps overlap."""
        return self.steps < 2 * TREND_STEPS

    @property
    def shown_steps(self) -> int:
        """How many steps the first and the newest mean are of: three, or half of fewer, so they never overlap."""
        return max(1, min(SHOWN_STEPS, self.steps // 2))

    def first_mean(self, name: str, missing: float = 0.0) -> float:
        return _or(mean_of(self.first[: self.shown_steps], name), missing)

    def recent_mean(self, name: str, missing: float = 0.0) -> float:
        return _or(mean_of(list(self.newest)[-self.shown_steps :], name), missing)


def mean_of(steps: Iterable[Metrics], name: str) -> float | None:
    """None where no step has the metric."""
    values = [step[name] for step in steps if name in step]
    return fmean(values) if values else None


def _or(value: float | None, missing: float) -> float:
    return missing if value is None else value
