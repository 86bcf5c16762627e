"""What detectors report: alerts before they are events, and what they request of the run. No torch."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Literal

from engine.diagnostics.rule_config import Action
from engine.events import AlertRaised
from engine.verdict.types import ComparedWith, Severity

Metrics = dict[str, float]
Ending = Literal["collapsed", "converged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDraft:
    """The fields of an `alert_raised` event that a rule decides, and the outcome of a run that it stops."""

    rule: str
    severity: Severity
    message: str
    metric: str
    value: float
    baseline: float | None = None
    compared_with: ComparedWith = "limit"
    limit: float | None = None
    since: int = 0
    fork_before: int = 0  # the first step of any sign that was open with it
    action: Action = "notify"
    ending: Ending = "collapsed"

    def event(self, step: int) -> AlertRaised:
        """The alert at `step`. JSON has finite numbers only, so the message says where a number was not finite."""
        numbers = {"value": self.value, "baseline": self.baseline or 0.0}
        described = [
            f"the {name} was {_describe(number)}" for name, number in numbers.items() if not math.isfinite(number)
        ]
        note = " and ".join(described)
        return AlertRaised(
            step=step,
            rule=self.rule,
            severity=self.severity,
            message=f"{self.message} ({note[0].upper()}{note[1:]}.)" if note else self.message,
            metric=self.metric,
            value=_finite(self.value),
            baseline=None if self.baseline is None else _finite(self.baseline),
            compared_with=self.compared_with,
            limit=None if self.limit is None else _finite(self.limit),
            since=self.since,
            fork_before=self.fork_before,
            action=self.action,
        )


def _finite(number: float) -> float:
    if math.isfinite(number):
        return number
    return 0.0 if math.isnan(number) else math.copysign(sys.float_info.max, number)


def _describe(number: float) -> str:
    return "not a number" if math.isnan(number) else "infinite" if number > 0 else "negative infinity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The alerts of one step. `stop` is the reason to end the run, if there is one, and `ending` its outcome.

    `rule` is the one that ends it. With `fork_before` it requests a fork from the last checkpoint before that step.
    """

    alerts: list[AlertDraft] = field(default_factory=list)
    stop: str | None = None
    ending: Ending = "collapsed"
    rule: str = ""
    fork_before: int | None = None

    def requests(self, action: Action) -> bool:
        return any(alert.action == action for alert in self.alerts)
