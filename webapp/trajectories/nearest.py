"""The recorded steps nearest to requested steps without trajectories."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from webapp.trajectories.filters import Filters
from webapp.trajectories.models import Trajectory

BY_STEP = ("step", "step_low", "step_high")


def nearest_steps(rows: QuerySet[Trajectory], filters: Filters) -> list[dict[str, Any]]:
    """At most two, `{step, query}`: the nearest before and after that match the other filters.

    Empty if no step is requested. `rows` are those of the list without filters; `query` is the list's, for that step.
    """
    requested = [int(filters.values[name]) for name in BY_STEP if name in filters.conditions]
    if not requested:
        return []
    others = filters.without(*BY_STEP)
    fitting = others.apply(rows).order_by().values_list("step", flat=True)
    before = fitting.filter(step__lt=min(requested)).order_by("-step").first()
    after = fitting.filter(step__gt=max(requested)).order_by("step").first()
    return [{"step": step, "query": others.query(step=str(step))} for step in (before, after) if step is not None]
