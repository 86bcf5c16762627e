"""Alerts that still count: until their metric has been within its limit for ten steps. One for each rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.events import AlertRaised
from engine.verdict.course import Metrics
from engine.verdict.thresholds import ALERT_STEPS
from engine.verdict.types import AlertBasis, Severity

SEVERITIES: tuple[Severity, ...] = ("warn", "critical", "dead")  # that count, the worst last


@dataclass(slots=True)
class OpenAlert:
    """An alert with the newest value of its metric. Without a limit it counts for ten steps."""

    raised: AlertRaised
    value: float
    holds: bool
    held: int  # the newest step at which it was beyond its limit, or not measured

    def read(self, step: int, metrics: Metrics) -> None:
        limit, metric = self.raised.limit, self.raised.metric
        if limit is None:
            return
        if metric in metrics:
            self.value = metrics[metric]
            self.holds = self.value > limit if self.raised.value > limit else self.value < limit
        if self.holds:
            self.held = step

    def counts(self, step: int) -> bool:
        return step - self.held < ALERT_STEPS

    def basis(self) -> AlertBasis:
        raised = self.raised
        return AlertBasis(
            rule=raised.rule,
            severity=raised.severity,
            step=raised.step,
            seq=raised.seq,
            metric=raised.metric,
            value=self.value,
            limit=raised.limit,
            baseline=raised.baseline,
            compared_with=raised.compared_with,
            holds=self.holds,
        )


@dataclass(slots=True)
class OpenAlerts:
    """The newest alert of each rule."""

    by_rule: dict[str, OpenAlert] = field(default_factory=dict)

    def add(self, event: AlertRaised) -> None:
        if event.severity in SEVERITIES:
            self.by_rule[event.rule] = OpenAlert(event, event.value, event.limit is not None, event.step)

    def read(self, step: int, metrics: Metrics) -> None:
        """Metrics of the step, or of an evaluation after it."""
        for alert in self.by_rule.values():
            alert.read(step, metrics)
        self.by_rule = {rule: alert for rule, alert in self.by_rule.items() if alert.counts(step)}

    def counting(self, step: int) -> list[OpenAlert]:
        """The one that says most comes first: still beyond a limit, then the worst, then the newest."""
        found: Iterable[OpenAlert] = (alert for alert in self.by_rule.values() if alert.counts(step))
        return sorted(
            found, key=lambda one: (one.holds, SEVERITIES.index(one.raised.severity), one.raised.seq), reverse=True
        )
