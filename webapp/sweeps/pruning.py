"""Ends the configurations of a sweep that `engine.sweeps.pruning` rules out, at their newest step of comparison."""

from __future__ import annotations

from engine.sweeps.plan import SweepPlan
from engine.sweeps.pruning import COLLAPSED, newest_step, reason_to_end
from webapp.runs.models import Run
from webapp.runs.services import request_prune
from webapp.runs.states import TERMINAL
from webapp.sweeps.models import PlannedRun, Sweep
from webapp.sweeps.proposals import LARGE, is_over
from webapp.sweeps.training_curves import curves_of


def prune(sweep: Sweep) -> int:
    """How many configurations ended. Each run is compared once at each step of comparison."""
    plan = sweep.parsed_plan()
    if plan.pruning is None:
        return 0
    rows = list(sweep.planned.filter(pruned="").select_related("run").defer(*LARGE))
    unfinished = {row.point_key for row in rows if not (is_over(row, row.run, sweep) or _has_trained(row.run))}
    due = {row.pk: step for row in rows if row.point_key in unfinished and (step := _due_step(row, plan))}
    collapsed = {row.point_key for row in rows if _label(row) == COLLAPSED} & unfinished
    keys = collapsed | {row.point_key for row in rows if row.pk in due}
    if not keys:
        return 0
    everything = list(sweep.planned.filter(run__isnull=False))
    steps = {step for row in rows if row.point_key in keys and (step := _newest(row, plan))}
    curves = curves_of(everything, plan.objective, steps)
    ended = 0
    for key in sorted(keys):
        labels = {row.seed: _label(row) for row in rows if row.point_key == key}
        if reason := reason_to_end(key, curves, labels, plan.pruning, plan.objective):
            _end(sweep, key, reason)
            ended += 1
    for pk, step in due.items():
        PlannedRun.objects.filter(pk=pk).update(compared_at=step)
    return ended


def _end(sweep: Sweep, key: str, reason: str) -> None:
    found = sweep.planned.filter(point_key=key)
    found.update(pruned=reason, again=False)
    for run in Run.objects.filter(planned__in=found).exclude(state__in=TERMINAL):
        if not _has_trained(run):
            request_prune(run, reason)


def _has_trained(run: Run | None) -> bool:
    """Whether the run is past its last step, with nothing left but its final evaluation."""
    return run is not None and run.total_steps > 0 and run.step >= run.total_steps


def _newest(row: PlannedRun, plan: SweepPlan) -> int:
    """The newest step of comparison of the row's run; 0 before the first."""
    if row.run is None or plan.pruning is None:
        return 0
    return newest_step({row.run.step: 0.0}, plan.pruning) or 0


def _due_step(row: PlannedRun, plan: SweepPlan) -> int:
    """The same, unless it was compared there; 0 if nothing is due."""
    step = _newest(row, plan)
    return step if step > row.compared_at else 0


def _label(row: PlannedRun) -> str:
    return str(row.run.verdict.get("label", "")) if row.run is not None else ""
