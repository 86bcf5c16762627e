"""What the alerts of runs said, side by side: for each rule the first step at which it fired in each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.runs.models import Alert, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """Of one rule in one run: its first alert, and how many there were."""

    first: Alert
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    rule: str
    cells: list[Fired | None]


def alerted(runs: Sequence[Run]) -> list[Run]:
    """Those in which an alert has fired."""
    found = set(Alert.objects.filter(run__in=runs).order_by().values_list("run_id", flat=True).distinct())
    return [run for run in runs if run.pk in found]


def alert_table(runs: Sequence[Run]) -> list[RuleRow]:
    """The rule that fired first in any run comes first."""
    found: dict[str, dict[str, Fired]] = {}
    rows = Alert.objects.filter(run__in=runs).order_by("step", "seq")
    for alert in rows:
        by_run = found.setdefault(alert.rule, {})
        before = by_run.get(alert.run_id)
        by_run[alert.run_id] = Fired(first=before.first if before else alert, count=before.count + 1 if before else 1)
    return [RuleRow(rule=rule, cells=[by_run.get(run.pk) for run in runs]) for rule, by_run in found.items()]
