"""What a detector says: an alert before it is numbered and timed, and a verdict on a step. No torch."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from engine.diagnostics.rule_config import Action
from engine.events import Severity

Metrics = dict[str, float]
Ending = Literal["collapsed", "converged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDraft:
    """The fields of an `alert_raised` event that a rule decides, and how a run that it stops has ended."""

    rule: str
    severity: Severity
    message: str
    metric: str
    value: float
    baseline: float | None = None
    since: int = 0
    action: Action = "notify"
    ending: Ending = "collapsed"

    def fields(self) -> dict[str, Any]:
        """The event's own fields. JSON has numbers only, so words say where one was none."""
        told = {name: value for name, value in asdict(self).items() if name != "ending"}
        strange = {name: told[name] for name in ("value", "baseline") if not math.isfinite(told[name] or 0.0)}
        if strange:
            words = " and ".join(f"the {name} was {_in_words(number)}" for name, number in strange.items())
            told["message"] = f"{self.message} ({words[0].upper()}{words[1:]}.)"
        return told | {name: _finite(number) for name, number in strange.items()}


def _finite(number: float) -> float:
    return 0.0 if math.isnan(number) else math.copysign(sys.float_info.max, number)


def _in_words(number: float) -> str:
    return "not a number" if math.isnan(number) else "infinite" if number > 0 else "infinite, below zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one step raised; `stop` says why the run must end, if it must, and `ending` as what.

    `fork_before` is the step at which the trouble began that a fork is asked for.
    """

    alerts: list[AlertDraft] = field(default_factory=list)
    stop: str | None = None
    ending: Ending = "collapsed"
    fork_before: int | None = None

    def asks_for(self, action: Action) -> bool:
        return any(alert.action == action for alert in self.alerts)
