"""Everything that a user does to a sweep: create, stop, resume, extend, and change its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from engine.config import RunConfig
from engine.sweeps.plan import MOST_RUNS, SweepPlan
from engine.sweeps.points import fixed
from engine.sweeps.text import SweepText
from webapp.adapter_copies import copies_first
from webapp.audit.services import Actor, record_of
from webapp.environments.models import EnvironmentVersion
from webapp.members.choices import project_for_new
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.runs.names import generated_name
from webapp.runs.services import request_stop
from webapp.runs.states import TERMINAL, RunState
from webapp.sweeps.advancing import LONGEST_NAME, advance
from webapp.sweeps.drafts import SweepDraft, draft
from webapp.sweeps.endings import end
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, PlannedRun, Priority, Sweep, SweepState
from webapp.sweeps.proposals import FAILURES, is_due, known_count


class Refused(Exception):
    """Why a sweep is not changed, for the user."""


@copies_first
def create(
    made: SweepDraft,
    *,
    base: RunConfig,
    owner: Actor,
    name: str = "",
    text: SweepText | None = None,
    preset: str = "",
    environment_version: EnvironmentVersion | None = None,
    project: Project | None = None,
    at_once: int = 1,
    retries: int = 1,
    priority: int = Priority.NORMAL,
) -> Sweep:
    """A sweep of a valid draft, with its first runs queued."""
    if made.plan is None or not made.valid:
        raise Refused(" ".join(made.problems))
    values = base.model_dump(mode="json")
    with transaction.atomic():
        sweep = Sweep.objects.create(
            name=(name.strip() or generated_name())[:LONGEST_NAME],
            owner=owner if isinstance(owner, User) else None,
            **(text or SweepText()).text,
            preset=preset or base.preset,
            environment_version=environment_version,
            project=project or project_for_new(owner),
            config=values,
            plan=fixed(made.plan, values).model_dump(mode="json"),
            at_once=min(max(1, at_once), MOST_AT_ONCE),
            retries=min(max(0, retries), MOST_RETRIES),
            priority=priority,
        )
        record_of(sweep, owner, "launch_sweep")
        _add(sweep, made)
        advance(sweep.pk)
    sweep.refresh_from_db()
    return sweep


def extend(
    sweep: Sweep, larger: Callable[[SweepPlan], Mapping[str, Any]], *, most: int = MOST_RUNS, user: Actor = None
) -> int:
    """Plans what a plan with more values, draws or seeds adds to the sweep, and how many runs that is. Runs that it has
    stay as they are. `larger` makes the data of that plan from the present one; it is called again if somebody else
    has extended the sweep meanwhile. Raises `Refused` for more than `most`, or if something of the plan is missing."""
    while (added := _try_to_extend(sweep, larger, most=most, user=user)) is None:
        sweep.refresh_from_db()
    if added:
        advance(sweep.pk)
    sweep.refresh_from_db()
    return added


def _try_to_extend(
    sweep: Sweep, larger: Callable[[SweepPlan], Mapping[str, Any]], *, most: int, user: Actor
) -> int | None:
    """None if the plan has changed since `sweep` was read."""
    former = sweep.parsed_plan()
    known = list(sweep.planned.values_list("point_key", flat=True)) if former.method != "tpe" else []
    made = draft(sweep.parsed_config(), larger(former), first=known, user=user, version=sweep.environment_version)
    if made.plan is None or not made.valid:
        raise Refused(" ".join(made.problems))
    with transaction.atomic():
        if Sweep.objects.select_for_update().get(pk=sweep.pk).plan != sweep.plan:
            return None
        if former.method == "tpe":
            return _extend_adaptive(sweep, former, made.plan, most=most, user=user)
        return _extend_drawn(sweep, made, most=most, user=user)


def _extend_drawn(sweep: Sweep, made: SweepDraft, *, most: int, user: Actor) -> int:
    former = set(sweep.planned.values_list("point_key", "seed"))
    planned = {(trial.point.key, trial.seed) for trial in made.trials()}
    if missing := len(former - planned):
        raise Refused(
            f"{missing} runs of this sweep would no longer belong to it. An extension adds values or seeds and removes "
            "none; for anything else, start another sweep from this one."
        )
    _check_count(len(planned - former), most)
    added = _add(sweep, made)
    if added and made.plan is not None:
        _start_again(sweep, plan=fixed(made.plan, sweep.config).model_dump(mode="json"))
        record_of(sweep, user, "extend", runs=added)
    return added


def _extend_adaptive(sweep: Sweep, former: SweepPlan, plan: SweepPlan, *, most: int, user: Actor) -> int:
    """Further seeds for the configurations that there are, and further configurations for it to propose."""
    if plan.axes != former.axes or not set(former.seeds) <= set(plan.seeds) or plan.points < former.points:
        raise Refused("An adaptive search keeps its axes. Extend it by configurations or training seeds.")
    if plan.seeds == former.seeds and plan.points == former.points:
        return 0
    _check_count(plan.points * len(plan.seeds) - former.points * len(former.seeds), most)
    known = known_count(sweep)
    points = {row.point_key: row for row in sweep.planned.filter(pruned="")}
    new = [(row, seed) for seed in plan.seeds if seed not in former.seeds for row in points.values()]
    first = 1 + max(sweep.planned.values_list("order", flat=True), default=-1)
    PlannedRun.objects.bulk_create(
        PlannedRun(sweep=sweep, order=first + index, point_key=row.point_key, labels=row.labels,
                   changes=row.changes, seed=seed)
        for index, (row, seed) in enumerate(new)
    )  # fmt: skip
    _start_again(sweep, plan=plan.model_dump(mode="json"))
    record_of(sweep, user, "extend", seeds=len(plan.seeds), configurations=plan.points)
    return len(new) + max(0, plan.points - known) * len(plan.seeds)


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise Refused(f"That would be {count} more runs. Enter their number, {count}, to confirm.")


def stop(sweep: Sweep, user: Actor, *, runs: bool) -> bool:
    """Launches no more runs; with `runs` also stops those that are queued or live. False if nothing is to stop."""
    with transaction.atomic():
        stopped = end(sweep, SweepState.STOPPED)
        live = list(live_runs(sweep)) if runs else []
        record_of(sweep, user, "halt" if runs else "hold", bool(stopped or live))
    for run in live:
        request_stop(run, user)
    sweep.refresh_from_db()
    return bool(stopped or live)


@copies_first
def resume(sweep: Sweep, user: Actor = None) -> int:
    """Goes on with what is planned, and queues again what was stopped, or failed and has retries left. How many runs
    that is; `Refused` if there are none."""
    with transaction.atomic():
        ended = sweep.planned.select_for_update().filter(run__state__in=[RunState.STOPPED, *FAILURES], pruned="")
        again = [row.pk for row in ended.select_related("run") if may_run_again(row, sweep)]
        waiting = sweep.planned.filter(run=None, pruned="").count()
        if not again and not waiting and not is_due(sweep):
            raise Refused(
                "There is nothing to resume: every run has finished, or failed as often as its retries allow. Allow "
                "more retries to queue those again."
            )
        PlannedRun.objects.filter(pk__in=again).update(again=True, problem="")
        sweep.planned.filter(run=None).update(problem="")
        _start_again(sweep)
        record_of(sweep, user, "go_on", runs=len(again) + waiting)
        advance(sweep.pk)
    sweep.refresh_from_db()
    return len(again) + waiting


def _start_again(sweep: Sweep, **also: Any) -> None:
    running = {"state": SweepState.RUNNING, "ended_at": None, "stopped_because": "", "resumed_at": timezone.now()}
    Sweep.objects.filter(pk=sweep.pk).update(**running, **also)


def may_run_again(row: PlannedRun, sweep: Sweep) -> bool:
    return row.run is not None and (row.run.state == RunState.STOPPED or row.retries < sweep.retries)


def change(sweep: Sweep, user: Actor = None, *, at_once: int, retries: int, priority: int) -> None:
    """Limits that apply from the next launch on."""
    new = {
        "at_once": min(max(1, at_once), MOST_AT_ONCE),
        "retries": min(max(0, retries), MOST_RETRIES),
        "priority": priority,
    }
    before = {name: getattr(sweep, name) for name in new}
    changes = {name: {"old": before[name], "new": value} for name, value in new.items() if value != before[name]}
    with transaction.atomic():
        Sweep.objects.filter(pk=sweep.pk).update(**new)
        if changes:
            record_of(sweep, user, "limits", changes=changes)
    sweep.refresh_from_db()
    advance(sweep.pk)


def live_runs(sweep: Sweep) -> Iterable[Run]:
    return Run.objects.filter(planned__sweep=sweep).exclude(state__in=TERMINAL)


def _add(sweep: Sweep, made: SweepDraft) -> int:
    """Plans the runs of the draft that the sweep does not have, after those that it has."""
    rows = sweep.planned.values_list("point_key", "seed", "order")
    known = {(key, seed) for key, seed, _ in rows}
    first = 1 + max((order for _, _, order in rows), default=-1)
    new = [trial for trial in made.trials() if (trial.point.key, trial.seed) not in known]
    PlannedRun.objects.bulk_create(
        PlannedRun(
            sweep=sweep,
            order=first + index,
            point_key=trial.point.key,
            labels=dict(trial.point.labels),
            changes=dict(trial.point.changes),
            seed=trial.seed,
        )
        for index, trial in enumerate(new)
    )
    return len(new)
