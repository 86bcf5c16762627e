"""What a run recorded of steps that a later attempt repeated, by attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min

from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededSteps:
    """Those of `attempt` that the attempt `by` replaced, since it resumed from an earlier step."""

    attempt: int
    by: int
    first: int
    last: int
    trajectories: int


def superseded_steps(run: Run) -> list[SupersededSteps]:
    grouped = run.superseded_steps.order_by().values("attempt", "superseded_by")
    spans = grouped.annotate(first=Min("step"), last=Max("step")).order_by("attempt", "superseded_by")
    recorded = Trajectory.all_attempts.filter(run=run, superseded=True).order_by().values("attempt", "step")
    counts = list(recorded.annotate(count=Count("pk")))
    return [
        SupersededSteps(
            attempt=span["attempt"],
            by=span["superseded_by"],
            first=span["first"],
            last=span["last"],
            trajectories=sum(one["count"] for one in counts if _is_in(one, span)),
        )
        for span in spans
    ]


def _is_in(counted: Mapping[str, Any], span: Mapping[str, Any]) -> bool:
    steps = range(span["first"], span["last"] + 1)
    return counted["step"] in steps and bool(counted["attempt"] == span["attempt"])
