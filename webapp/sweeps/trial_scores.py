"""The final held-out result of each run of a sweep."""

from __future__ import annotations

from webapp.evaluations.models import Evaluation
from webapp.sweeps.models import Sweep


def scores_of(sweep: Sweep, measure: str, environment: str = "") -> dict[tuple[str, int], float]:
    """By key of the point and seed. Of several environments their mean, unless one is chosen. The last evaluation of a
    resumed run counts."""
    found: dict[str, dict[str, float]] = {}
    rows = Evaluation.objects.filter(run__planned__sweep=sweep, final=True, requested=False, episodes__gt=0)
    for run_id, tag, value in rows.order_by("step").values_list("run_id", "environment", measure):
        if environment in ("", tag):
            found.setdefault(run_id, {})[tag] = value
    planned = sweep.planned.filter(run__isnull=False).values_list("point_key", "seed", "run_id")
    return {
        (key, seed): sum(values.values()) / len(values)
        for key, seed, run_id in planned
        if (values := found.get(run_id or ""))
    }
