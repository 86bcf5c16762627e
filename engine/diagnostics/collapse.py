"""Detectors of collapse: rules over windows of metrics that raise alerts and may end a run. No torch.

A rule speaks once and again only after its signal has recovered. What each watches for is in RAGEN's two papers
(arXiv 2504.20073 section 4, arXiv 2604.06268 section 5); the numbers here are ours and shown with each alert.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from engine.config import StopConfig
from engine.events import Severity

Metrics = dict[str, float]
BASELINE_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDraft:
    """An alert before it is numbered and timed."""

    rule: str
    severity: Severity
    message: str
    metric: str
    value: float
    baseline: float | None = None

    def fields(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one step raised; `stop` says why the run must end, if it must."""

    alerts: list[AlertDraft] = field(default_factory=list)
    stop: str | None = None


class Rule(Protocol):
    """A rule sees the recorded history of its metric, newest last, and says what is wrong, or None when nothing is."""

    metric: str

    def judge(self, history: list[float]) -> AlertDraft | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FallsBelowBaseline:
    """The last `steps` values are all below `share` of the mean of the first ten."""

    rule: str
    metric: str
    share: float
    steps: int
    severity: Severity
    meaning: str

    def judge(self, history: list[float]) -> AlertDraft | None:
        if len(history) < BASELINE_STEPS + self.steps:
            return None
        baseline = statistics.fmean(history[:BASELINE_STEPS])
        if baseline <= 0 or max(history[-self.steps :]) >= self.share * baseline:
            return None
        return AlertDraft(
            rule=self.rule,
            severity=self.severity,
            metric=self.metric,
            value=history[-1],
            baseline=baseline,
            message=f"{self.meaning} {history[-1]:.3g} for {self.steps} steps, below {self.share:.0%} of the "
            f"{baseline:.3g} it began with.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RisesAboveBaseline:
    """The last `steps` values are all above `times` the mean of the first ten."""

    rule: str
    metric: str
    times: float
    steps: int
    severity: Severity
    meaning: str

    def judge(self, history: list[float]) -> AlertDraft | None:
        if len(history) < BASELINE_STEPS + self.steps:
            return None
        baseline = statistics.fmean(history[:BASELINE_STEPS])
        if min(history[-self.steps :]) <= self.times * baseline:
            return None
        return AlertDraft(
            rule=self.rule,
            severity=self.severity,
            metric=self.metric,
            value=history[-1],
            baseline=baseline,
            message=f"{self.meaning} {history[-1]:.3g}, over {self.times:g} times the {baseline:.3g} it began with.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StaysBelow:
    """The last `steps` values are all below `limit`."""

    rule: str
    metric: str
    limit: float
    steps: int
    severity: Severity
    meaning: str

    def judge(self, history: list[float]) -> AlertDraft | None:
        if len(history) < self.steps or max(history[-self.steps :]) >= self.limit:
            return None
        return AlertDraft(
            rule=self.rule,
            severity=self.severity,
            metric=self.metric,
            value=history[-1],
            message=f"{self.meaning} {history[-1]:.3g} for {self.steps} steps (limit {self.limit:g}).",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spikes:
    """`steps` values in a row above `times` the median of the twenty before them."""

    rule: str
    metric: str
    times: float
    steps: int
    severity: Severity
    meaning: str

    def judge(self, history: list[float]) -> AlertDraft | None:
        before = history[-20 - self.steps : -self.steps]
        if len(before) < 10:
            return None
        usual = statistics.median(before)
        if min(history[-self.steps :]) <= self.times * usual:
            return None
        return AlertDraft(
            rule=self.rule,
            severity=self.severity,
            metric=self.metric,
            value=history[-1],
            baseline=usual,
            message=f"{self.meaning} {history[-1]:.3g}, over {self.times:g} times its usual {usual:.3g}.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FallsFromBest:
    """The mean of the last ten values is below `share` of the best such mean so far, which was at least `floor`."""

    rule: str
    metric: str
    share: float
    floor: float
    severity: Severity
    meaning: str

    def judge(self, history: list[float]) -> AlertDraft | None:
        if len(history) < 2 * BASELINE_STEPS:
            return None
        means = [statistics.fmean(history[i : i + BASELINE_STEPS]) for i in range(len(history) - BASELINE_STEPS + 1)]
        best = max(means)
        if best < self.floor or means[-1] >= self.share * best:
            return None
        return AlertDraft(
            rule=self.rule,
            severity=self.severity,
            metric=self.metric,
            value=means[-1],
            baseline=best,
            message=f"{self.meaning} {means[-1]:.3g} over ten steps, from {best:.3g} at its best.",
        )


RULES: tuple[Rule, ...] = (
    StaysBelow(
        rule="no_success", metric="rollout/success", limit=1e-9, steps=5, severity="dead", meaning="Training success is"
    ),
    StaysBelow(
        rule="format_breakdown", metric="rollout/parse_ok_rate", limit=0.5, steps=3, severity="critical",
        meaning="The share of well-formed replies is",
    ),
    FallsFromBest(
        rule="success_fell", metric="rollout/success", share=0.5, floor=0.1, severity="critical",
        meaning="Training success fell to",
    ),
    FallsBelowBaseline(
        rule="in_group_std_low", metric="reward/in_group_std", share=0.1, steps=10, severity="warn",
        meaning="The spread of rewards within groups is",
    ),
    FallsBelowBaseline(
        rule="entropy_low", metric="policy/entropy", share=0.2, steps=5, severity="warn", meaning="Policy entropy is"
    ),
    RisesAboveBaseline(
        rule="entropy_high", metric="policy/entropy", times=3.0, steps=3, severity="warn", meaning="Policy entropy is"
    ),
    Spikes(
        rule="grad_norm_spike", metric="optim/grad_norm", times=5.0, steps=3, severity="watch",
        meaning="The gradient norm is",
    ),
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Streak:
    """Counts steps in a row for which `holds`; ends the run at `limit`, never when that is 0."""

    limit: int
    reason: str
    holds: Callable[[Metrics], bool]
    length: int = 0

    def observe(self, metrics: Metrics) -> str | None:
        self.length = self.length + 1 if self.holds(metrics) else 0
        return self.reason.format(steps=self.length) if self.limit and self.length >= self.limit else None


class Detectors:
    """All rules of a run and the history they need."""

    def __init__(self, rules: tuple[Rule, ...], stops: dict[str, Streak]) -> None:
        self.rules = rules
        self.stops = stops
        self.history: dict[str, list[float]] = {rule.metric: [] for rule in rules}
        self.firing: set[str] = set()

    def observe(self, step: int, metrics: Metrics) -> Verdict:
        for name, history in self.history.items():
            if name in metrics:
                history.append(metrics[name])
        alerts = []
        for index, rule in enumerate(self.rules):
            key = str(index)
            draft = rule.judge(self.history[rule.metric]) if rule.metric in metrics else None
            if draft is not None and key not in self.firing:
                alerts.append(draft)
            if rule.metric in metrics:
                (self.firing.add if draft else self.firing.discard)(key)
        reasons = [reason for streak in self.stops.values() if (reason := streak.observe(metrics))]
        return Verdict(alerts=alerts, stop=reasons[0] if reasons else None)

    def state_dict(self) -> dict[str, Any]:
        return {
            "history": {name: list(values) for name, values in self.history.items()},
            "firing": sorted(self.firing),
            "streaks": {name: streak.length for name, streak in self.stops.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up where `state_dict` left off; an empty dict is a fresh start."""
        self.history.update(state.get("history", {}))
        self.firing = set(state.get("firing", []))
        for name, length in state.get("streaks", {}).items():
            self.stops[name].length = length


def build_detectors(config: StopConfig) -> Detectors:
    return Detectors(
        RULES,
        {
            "collapsed": Streak(
                limit=config.collapsed_after,
                reason="No trajectory succeeded and no group's returns differed for {steps} steps.",
                holds=lambda m: m.get("rollout/success", 1.0) == 0 and m.get("reward/in_group_std", 1.0) < 1e-6,
            ),
            "empty_filter": Streak(
                limit=config.empty_filter_after,
                reason="The filter kept no group for {steps} steps.",
                holds=lambda m: m.get("filter/kept_groups", 1.0) == 0,
            ),
        },
    )
