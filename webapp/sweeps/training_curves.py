"""The training metric by which configurations of a sweep are compared before their last step."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Q
from django.db.models.fields.json import KeyTransform

from engine.sweeps.plan import Objective
from engine.sweeps.pruning import METRICS, WINDOW
from webapp.runs.models import StepMetrics
from webapp.sweeps.models import PlannedRun

Curves = dict[str, dict[int, dict[int, float]]]  # by key of the point, seed and step


def curves_of(rows: Iterable[PlannedRun], objective: Objective, steps: Collection[int] = ()) -> Curves:
    """Of the runs of the rows; only what comparisons at `steps` read, if there are some."""
    owners = {row.run_id: row for row in rows if row.run_id is not None}
    wanted = Q()
    for step in steps:
        wanted |= Q(step__gt=step - WINDOW, step__lte=step)
    found: Curves = {}
    values = StepMetrics.objects.filter(wanted, run_id__in=owners).annotate(
        value=KeyTransform(METRICS[objective], "metrics")
    )
    for run_id, step, value in values.order_by("step").values_list("run_id", "step", "value"):
        if isinstance(value, int | float):
            row = owners[run_id]
            found.setdefault(row.point_key, {}).setdefault(row.seed, {})[step] = float(value)
    return found
