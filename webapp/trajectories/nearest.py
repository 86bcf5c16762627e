"""Where a list asks for steps of which nothing is there: the recorded steps before and after them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from webapp.trajectories.filters import Filters
from webapp.trajectories.models import Trajectory

BY_STEP = ("step", "step_low", "step_high")


def nearest_steps(rows: QuerySet[Trajectory], filters: Filters) -> list[dict[str, Any]]:
    """At most two, `{step, query}`, each the nearest on its side that the other filters let through.

    Empty where no step is asked for. `rows` are those of the list without filters; `query` is the list's, of that step.
    """
    asked = [int(filters.values[name]) for name in BY_STEP if name in filters.conditions]
    if not asked:
        return []
    others = filters.without(*BY_STEP)
    fitting = others.apply(rows).order_by().values_list("step", flat=True)
    before = fitting.filter(step__lt=min(asked)).order_by("-step").first()
    after = fitting.filter(step__gt=max(asked)).order_by("step").first()
    return [{"step": step, "query": others.query(step=str(step))} for step in (before, after) if step is not None]
