"""What a run recorded of steps that a later attempt repeated, by attempt."""

from __future__ import annotations

from dataclasses import dataclass

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
    spans = grouped.annotate(first=Min("step"), last=Max("step")).order_by("attempt")
    recorded = Trajectory.all_attempts.filter(run=run, superseded=True).order_by().values("attempt")
    counts = dict(recorded.annotate(count=Count("pk")).values_list("attempt", "count"))
    return [
        SupersededSteps(
            attempt=span["attempt"],
            by=span["superseded_by"],
            first=span["first"],
            last=span["last"],
            trajectories=counts.get(span["attempt"], 0),
        )
        for span in spans
    ]
