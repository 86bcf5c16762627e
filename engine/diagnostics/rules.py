"""Alert rules: each watches one metric and speaks once per episode of trouble. No torch.

A rule decides step by step whether it is breached. It speaks after `steps` breached steps in a row and falls silent
until `recovery` steps in a row were not. A step that lacks the metric changes nothing. All state is bounded and goes
into checkpoints. Which rules there are, and their numbers, is in `collapse.py`.
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.events import Severity

BASELINE_STEPS = 10
MEDIAN_STEPS = 20
ZERO_SPREAD = 1e-6


@dataclass(slots=True, kw_only=True)
class Rule(ABC):
    """Streaks and hysteresis; what counts as breached is the subclass's.

    `subject` begins the message ("Policy entropy"), `advice` ends it and says what to do.
    """

    metric: str
    severity: Severity
    subject: str
    advice: str
    steps: int
    recovery: int = 0  # 0: as many as `steps`
    breached: int = 0  # breached steps in a row, up to now
    clear: int = 0
    firing: bool = False

    @abstractmethod
    def judge(self, value: float, metrics: Metrics) -> bool:
        """Takes in one step's value; whether it breaches."""

    @abstractmethod
    def finding(self, value: float) -> str:
        """The predicate of the message: "is 0.01 after 5 steps below ..."."""

    def reference(self) -> float | None:
        """The number that the value is compared with, for the alert."""
        return None

    def observe(self, name: str, metrics: Metrics) -> AlertDraft | None:
        if self.metric not in metrics:
            return None
        value = metrics[self.metric]
        self._count(self.judge(value, metrics))
        if self.firing:
            self.firing = self.clear < (self.recovery or self.steps)
            return None
        if self.breached < self.steps:
            return None
        self.firing = True
        return self.draft(name, value)

    def draft(self, name: str, value: float) -> AlertDraft:
        return AlertDraft(
            rule=name,
            severity=self.severity,
            metric=self.metric,
            value=value,
            baseline=self.reference(),
            message=f"{self.subject} {self.finding(value)}. {self.advice}",
        )

    def _count(self, breached: bool) -> None:
        self.breached = self.breached + 1 if breached else 0
        self.clear = 0 if breached else self.clear + 1

    def state_dict(self) -> dict[str, Any]:
        return {"breached": self.breached, "clear": self.clear, "firing": self.firing}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.breached, self.clear, self.firing = state["breached"], state["clear"], state["firing"]


@dataclass(slots=True, kw_only=True)
class Below(Rule):
    """Under a fixed limit."""

    limit: float

    def judge(self, value: float, metrics: Metrics) -> bool:
        return value < self.limit

    def finding(self, value: float) -> str:
        return f"is {value:.3g}, under {self.limit:g} for {self.steps} steps"

    def reference(self) -> float | None:
        return self.limit


@dataclass(slots=True, kw_only=True)
class AgainstBaseline(Rule):
    """Under `share` times, or with `share` above 1 over `share` times, the mean of the metric's first ten values."""

    share: float
    first: list[float] = field(default_factory=list)

    def judge(self, value: float, metrics: Metrics) -> bool:
        if len(self.first) < BASELINE_STEPS:
            self.first.append(value)
            return False
        border = self.share * statistics.fmean(self.first)
        if border <= 0:
            return False
        return value < border if self.share < 1 else value > border

    def finding(self, value: float) -> str:
        side = "under" if self.share < 1 else "over"
        return (
            f"is {value:.3g}, {side} {self.share:g} times the {self.reference():.3g} of the first "
            f"{BASELINE_STEPS} steps, for {self.steps} steps"
        )

    def reference(self) -> float | None:
        return statistics.fmean(self.first)

    def state_dict(self) -> dict[str, Any]:
        return {**super(AgainstBaseline, self).state_dict(), "first": list(self.first)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(AgainstBaseline, self).load_state_dict(state)
        self.first = list(state["first"])


@dataclass(slots=True, kw_only=True)
class SpreadLost(AgainstBaseline):
    """In-group spread far under its baseline: *watch* when success holds (solved), the rule's severity when not.

    Success holds when its mean over the last ten steps is at least nine tenths of the best such mean, and above 0.
    A fall of spread alone cannot tell a converged policy from a dead one (it fired on healthy runs of RAGEN).
    """

    recent: list[float] = field(default_factory=list)
    best: float = 0.0

    def judge(self, value: float, metrics: Metrics) -> bool:
        self.recent = [*self.recent, metrics.get("rollout/success", 0.0)][-BASELINE_STEPS:]
        if len(self.recent) == BASELINE_STEPS:
            self.best = max(self.best, statistics.fmean(self.recent))
        return super(SpreadLost, self).judge(value, metrics)

    def draft(self, name: str, value: float) -> AlertDraft:
        success = statistics.fmean(self.recent)
        converged = 0 < success >= 0.9 * self.best
        verdict = (
            f"Training success holds at {success:.3g}, so the puzzles may simply be solved: make them harder or stop."
            if converged
            else f"Training success is {success:.3g} after {self.best:.3g} at its best. {self.advice}"
        )
        return AlertDraft(
            rule=name,
            severity="watch" if converged else self.severity,
            metric=self.metric,
            value=value,
            baseline=self.reference(),
            message=f"{self.subject} {self.finding(value)}. {verdict}",
        )

    def state_dict(self) -> dict[str, Any]:
        return {**super(SpreadLost, self).state_dict(), "recent": list(self.recent), "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(SpreadLost, self).load_state_dict(state)
        self.recent, self.best = list(state["recent"]), state["best"]


@dataclass(slots=True, kw_only=True)
class Spike(Rule):
    """Over `times` the median of the twenty values before; silent until there are ten."""

    times: float
    window: list[float] = field(default_factory=list)
    usual: float | None = None

    def judge(self, value: float, metrics: Metrics) -> bool:
        known = len(self.window) >= MEDIAN_STEPS // 2
        self.usual = statistics.median(self.window) if known else None
        self.window = [*self.window, value][-MEDIAN_STEPS:]
        return self.usual is not None and value > self.times * self.usual

    def finding(self, value: float) -> str:
        return (
            f"is {value:.3g}, over {self.times:g} times its median {self.usual:.3g} of the last {MEDIAN_STEPS} steps, "
            f"for {self.steps} steps"
        )

    def reference(self) -> float | None:
        return self.usual

    def state_dict(self) -> dict[str, Any]:
        return {**super(Spike, self).state_dict(), "window": list(self.window)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(Spike, self).load_state_dict(state)
        self.window = list(state["window"])


@dataclass(slots=True, kw_only=True)
class FellFromBest(Rule):
    """The mean of the last ten values is under `share` of the best such mean, which was at least `floor`."""

    share: float
    floor: float
    window: list[float] = field(default_factory=list)
    best: float = 0.0

    def judge(self, value: float, metrics: Metrics) -> bool:
        self.window = [*self.window, value][-BASELINE_STEPS:]
        if len(self.window) < BASELINE_STEPS:
            return False
        mean = statistics.fmean(self.window)
        self.best = max(self.best, mean)
        return self.best >= self.floor and mean < self.share * self.best

    def finding(self, value: float) -> str:
        return f"fell to {statistics.fmean(self.window):.3g} over ten steps, from {self.best:.3g} at its best"

    def reference(self) -> float | None:
        return self.best

    def state_dict(self) -> dict[str, Any]:
        return {**super(FellFromBest, self).state_dict(), "window": list(self.window), "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super(FellFromBest, self).load_state_dict(state)
        self.window, self.best = list(state["window"]), state["best"]


@dataclass(slots=True, kw_only=True)
class NoSignal(Rule):
    """No trajectory succeeded and no group's returns differed."""

    def judge(self, value: float, metrics: Metrics) -> bool:
        return without_signal(metrics)

    def finding(self, value: float) -> str:
        return f"has been 0 for {self.steps} steps, and within every group all returns are equal"


def without_signal(metrics: Metrics) -> bool:
    """Whether a step had no success and no in-group spread of returns; False where either is unknown."""
    return metrics.get("rollout/success", 1.0) == 0 and metrics.get("reward/in_group_std", 1.0) < ZERO_SPREAD
