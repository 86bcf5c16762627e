"""What a detector says: an alert before it is numbered and timed, and a verdict on a step. No torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from engine.events import Severity

Metrics = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDraft:
    """The fields of an `alert_raised` event that a rule decides."""

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
