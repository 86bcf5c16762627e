"""What a detector says: an alert before it is numbered and timed, and a verdict on a step. No torch."""

from __future__ import annotations

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
    action: Action = "notify"
    ending: Ending = "collapsed"

    def fields(self) -> dict[str, Any]:
        """The event's own fields."""
        return {name: value for name, value in asdict(self).items() if name != "ending"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one step raised; `stop` says why the run must end, if it must, and `ending` as what."""

    alerts: list[AlertDraft] = field(default_factory=list)
    stop: str | None = None
    ending: Ending = "collapsed"

    def asks_for(self, action: Action) -> bool:
        return any(alert.action == action for alert in self.alerts)
