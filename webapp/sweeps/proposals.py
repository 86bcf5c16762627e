"""What an adaptive search has tried so far, read from the sweep's own rows, and what it tries next."""

from __future__ import annotations

from engine.sweeps.adaptive import Tried, next_point
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import Point
from engine.sweeps.pruning import means_by_step
from webapp.runs.models import Run
from webapp.runs.states import TERMINAL, RunState
from webapp.sweeps.models import PlannedRun, Sweep
from webapp.sweeps.training_curves import curves_of
from webapp.sweeps.trial_scores import scores_of

LARGE = ("run__config", "run__metrics", "run__faults")  # columns that no decision reads
FAILURES = (RunState.FAILED, RunState.CRASHED)


def is_due(sweep: Sweep) -> bool:
    """Whether a configuration has yet to be proposed."""
    plan = sweep.parsed_plan()
    return plan.method == "tpe" and known_count(sweep) < plan.points


def known_count(sweep: Sweep) -> int:
    return sweep.planned.values("point_key").distinct().count()


def propose(sweep: Sweep) -> Point | None:
    """None if every combination has been tried."""
    return next_point(sweep.parsed_plan(), sweep.config, tried_of(sweep))


def add(sweep: Sweep, point: Point) -> None:
    """Plans the point with every seed, after what is planned."""
    last = sweep.planned.order_by("-order").values_list("order", flat=True).first()
    first = 0 if last is None else last + 1
    PlannedRun.objects.bulk_create(
        PlannedRun(
            sweep=sweep,
            order=first + index,
            point_key=point.key,
            labels=dict(point.labels),
            changes=dict(point.changes),
            seed=seed,
        )
        for index, seed in enumerate(sweep.parsed_plan().seeds)
    )


def tried_of(sweep: Sweep) -> list[Tried]:
    """Each configuration in the order of launch, with the mean of its results over seeds."""
    plan = sweep.parsed_plan()
    rows: dict[str, list[PlannedRun]] = {}
    for row in sweep.planned.select_related("run").defer(*LARGE):
        rows.setdefault(row.point_key, []).append(row)
    scores = scores_of(sweep, plan.objective)
    return [_tried(found, sweep, plan, scores) for found in rows.values()]


def _tried(rows: list[PlannedRun], sweep: Sweep, plan: SweepPlan, scores: dict[tuple[str, int], float]) -> Tried:
    point = rows[0].point
    if any(row.pruned for row in rows) and plan.pruning is not None:
        curves = curves_of([row for row in rows if row.run_id], plan.objective)
        return Tried(point=point, state="pruned", by_step=means_by_step(curves.get(point.key, {}), plan.pruning))
    if not all(is_over(row, row.run, sweep) for row in rows):
        return Tried(point=point, state="running")
    found = [scores[row.point_key, row.seed] for row in rows if (row.point_key, row.seed) in scores]
    if not found:
        return Tried(point=point, state="failed")
    return Tried(point=point, state="complete", value=sum(found) / len(found))


def is_over(row: PlannedRun, run: Run | None, sweep: Sweep) -> bool:
    """Whether nothing more is launched for the row."""
    if row.pruned or row.problem:
        return True
    if run is None or row.again or run.state not in TERMINAL:
        return False
    return not (run.state in FAILURES and row.retries < sweep.retries)
