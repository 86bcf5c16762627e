"""The rows of the list of runs: filters from the URL, one page of runs, and the columns of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTransform

from webapp.evaluations.models import Evaluation
from webapp.runs.models import Run, StepMetrics
from webapp.runs.states import TERMINAL, RunState
from webapp.runs.verdicts import Status, health_of

PAGE = 50
SPARK_POINTS = 40
FILTERS: dict[str, tuple[str, frozenset[RunState] | None]] = {
    "all": ("All", None),
    "live": ("Live", frozenset(RunState) - TERMINAL),
    "finished": ("Finished", frozenset({RunState.FINISHED})),
    "ended": ("Stopped or failed", TERMINAL - {RunState.FINISHED}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    run: Run
    health: Status | None
    environment: str
    success: float | None
    held_out: Evaluation | None
    spark: str  # the path of a small SVG
    progress: float


def find_runs(query: Mapping[str, str]) -> QuerySet[Run]:
    """Runs selected by the query: `show`, `q` in names, `archived`, and `before` for older pages."""
    runs = Run.objects.select_related("owner", "environment_version__definition", "forked_from")
    runs = runs.filter(archived_at__isnull=query.get("archived") != "1")
    states = FILTERS.get(query.get("show", "all"), FILTERS["all"])[1]
    if states is not None:
        runs = runs.filter(state__in=states)
    if text := query.get("q", "").strip():
        runs = runs.filter(name__icontains=text)
    if before := query.get("before"):
        runs = runs.filter(created_at__lt=Run.objects.filter(pk=before).values("created_at"))
    return runs.order_by("-created_at")


def rows_of(runs: Iterable[Run]) -> list[RunRow]:
    """The rows of the table, with two queries for all of them."""
    shown = list(runs)
    evaluations = _latest_evaluations(shown)
    curves = _success_curves(shown)
    return [
        RunRow(
            run=run,
            health=health_of(run),
            environment=str(run.environment_version or ", ".join(e["tag"] for e in run.config["environments"])),
            success=run.metrics.get("rollout/success"),
            held_out=evaluations.get(run.pk),
            spark=spark_path(curves.get(run.pk, [])),
            progress=run.step / run.total_steps if run.total_steps else 0.0,
        )
        for run in shown
    ]


def spark_path(values: list[float], *, width: int = 84, height: int = 22) -> str:
    """Success from 0 to 1 as an SVG path; empty for fewer than two points."""
    if len(values) < 2:
        return ""
    across = width / (len(values) - 1)
    points = [f"{i * across:.1f},{height - 1 - value * (height - 2):.1f}" for i, value in enumerate(values)]
    return "M" + " L".join(points)


def _latest_evaluations(runs: list[Run]) -> dict[str, Evaluation]:
    found: dict[str, Evaluation] = {}
    for evaluation in Evaluation.objects.filter(run__in=runs).order_by("step", "final"):
        found[evaluation.run_id] = evaluation
    return found


def _success_curves(runs: list[Run]) -> dict[str, list[float]]:
    """Up to forty evenly spaced points of training success per run, including the newest."""
    wanted = Q(pk__in=[])
    for run in runs:
        every = max(1, run.step // SPARK_POINTS)
        wanted |= Q(run=run, step__in=range(run.step, 0, -every))
    curves: dict[str, list[float]] = {}
    success = KeyTransform("rollout/success", "metrics")
    for run_id, value in StepMetrics.objects.filter(wanted).order_by("step").values_list("run_id", success):
        curves.setdefault(run_id, []).append(float(value or 0.0))
    return curves
