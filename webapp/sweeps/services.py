"""Everything that changes a sweep: create, stop, resume, extend; and `advance`, which launches its next runs.

A sweep has at most `at_once` runs that are queued or live, so that it leaves room for others; the rest are planned
rows. Workers call `advance_all` every few seconds and whenever a run ends; a lost call loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from engine.config import RunConfig
from engine.errors import StarboardError
from engine.sweeps.configurations import with_changes
from engine.sweeps.plan import MOST_RUNS
from engine.sweeps.points import fixed
from webapp.audit.services import Actor, record
from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run
from webapp.runs.names import generated_name
from webapp.runs.services import request_stop, resume_ended, submit_run
from webapp.runs.states import TERMINAL, RunState
from webapp.sweeps.drafts import SweepDraft, draft
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, PlannedRun, Priority, Sweep, SweepState

LONGEST_NAME = 80
FAILURES = (RunState.FAILED, RunState.CRASHED)


class Refused(Exception):
    """Why a sweep is not changed, for the user."""


def create(
    made: SweepDraft,
    *,
    base: RunConfig,
    owner: Actor,
    name: str = "",
    preset: str = "",
    environment_version: EnvironmentVersion | None = None,
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
            preset=preset or base.preset,
            environment_version=environment_version,
            config=values,
            plan=fixed(made.plan, values).model_dump(mode="json"),
            at_once=min(max(1, at_once), MOST_AT_ONCE),
            retries=min(max(0, retries), MOST_RETRIES),
            priority=priority,
        )
        _add(sweep, made)
        advance(sweep.pk)
    sweep.refresh_from_db()
    return sweep


def extend(sweep: Sweep, data: Mapping[str, Any], *, most: int = MOST_RUNS) -> int:
    """Plans what a plan with more values, draws or seeds adds to the sweep, and how many runs that is. Runs that it has
    stay as they are. Raises `Refused` for more than `most`, or if something of the former plan is missing."""
    former = set(sweep.planned.values_list("point_key", "seed"))
    made = draft(sweep.parsed_config(), data, first=[key for key, _ in former])
    if made.plan is None or not made.valid:
        raise Refused(" ".join(made.problems))
    planned = {(trial.point.key, trial.seed) for trial in made.trials()}
    if missing := len(former - planned):
        raise Refused(
            f"{missing} runs of this sweep would no longer belong to it. An extension adds values or seeds and removes "
            "none; for anything else, start another sweep from this one."
        )
    if (count := len(planned - former)) > most:
        raise Refused(f"That would be {count} more runs. Enter their number, {count}, to confirm.")
    with transaction.atomic():
        added = _add(sweep, made)
        if added:
            plan = fixed(made.plan, sweep.config).model_dump(mode="json")
            Sweep.objects.filter(pk=sweep.pk).update(plan=plan, state=SweepState.RUNNING, ended_at=None)
            advance(sweep.pk)
    sweep.refresh_from_db()
    return added


def stop(sweep: Sweep, user: Actor, *, runs: bool) -> bool:
    """Launches no more runs; with `runs` also stops those that are queued or live. False if nothing is to stop."""
    stopped = Sweep.objects.filter(pk=sweep.pk, state=SweepState.RUNNING).update(
        state=SweepState.STOPPED, ended_at=timezone.now()
    )
    live = list(live_runs(sweep)) if runs else []
    for run in live:
        request_stop(run, user)
    sweep.refresh_from_db()
    return bool(stopped or live)


def resume(sweep: Sweep) -> int:
    """Goes on with what is planned, and queues again what was stopped, or failed and has retries left. How many runs
    that is; `Refused` if there are none."""
    with transaction.atomic():
        ended = sweep.planned.select_for_update().filter(run__state__in=[RunState.STOPPED, *FAILURES])
        again = [row.pk for row in ended.select_related("run") if may_run_again(row, sweep)]
        waiting = sweep.planned.filter(run=None).count()
        if not again and not waiting:
            raise Refused(
                "There is nothing to resume: every run has finished, or failed as often as its retries allow. Allow "
                "more retries to queue those again."
            )
        PlannedRun.objects.filter(pk__in=again).update(again=True)
        sweep.planned.filter(run=None).update(problem="")
        Sweep.objects.filter(pk=sweep.pk).update(state=SweepState.RUNNING, ended_at=None)
        advance(sweep.pk)
    sweep.refresh_from_db()
    return len(again) + waiting


def may_run_again(row: PlannedRun, sweep: Sweep) -> bool:
    return row.run is not None and (row.run.state == RunState.STOPPED or row.retries < sweep.retries)


def change(sweep: Sweep, *, at_once: int, retries: int, priority: int) -> None:
    """Limits that apply from the next launch on."""
    Sweep.objects.filter(pk=sweep.pk).update(
        at_once=min(max(1, at_once), MOST_AT_ONCE), retries=min(max(0, retries), MOST_RETRIES), priority=priority
    )
    sweep.refresh_from_db()
    advance(sweep.pk)


def live_runs(sweep: Sweep) -> Iterable[Run]:
    return Run.objects.filter(planned__sweep=sweep).exclude(state__in=TERMINAL)


def advance_all() -> None:
    """Launches the next runs of every sweep that has room for them."""
    for sweep in Sweep.objects.filter(state=SweepState.RUNNING).only("pk", "at_once"):
        if _live_count(sweep) < sweep.at_once:
            advance(sweep.pk)


def advance(pk: int) -> None:
    """Launches as many runs of the sweep as its limit allows, failed ones first, so that seeds are completed in order.
    Without any that are live or left it has finished."""
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and launching one act
        sweep = Sweep.objects.select_for_update().filter(pk=pk, state=SweepState.RUNNING).first()
        if sweep is None:
            return
        live = _live_count(sweep)
        for row in _due(sweep):
            if live >= sweep.at_once:
                return
            live += _launch(row, sweep)
        if not live:
            Sweep.objects.filter(pk=pk).update(state=SweepState.FINISHED, ended_at=timezone.now())


def _live_count(sweep: Sweep) -> int:
    return sweep.planned.filter(run__isnull=False).exclude(run__state__in=TERMINAL).count()


def _due(sweep: Sweep) -> Iterable[PlannedRun]:
    """What is to be queued, in order: again what failed, or what a user asked for; then what was never launched."""
    ended = sweep.planned.filter(run__state__in=[RunState.STOPPED, *FAILURES]).select_related("run")
    for row in list(ended):
        failed = row.run is not None and row.run.state in FAILURES
        if row.again or (failed and row.retries < sweep.retries):
            yield row
    yield from list(sweep.planned.filter(run=None, problem=""))


def _launch(row: PlannedRun, sweep: Sweep) -> bool:
    """Whether the run is in the queue now; if not, the row says why."""
    if row.run is not None:
        return _queue_again(row, row.run, sweep)
    try:
        # nothing of a run that is refused stays behind
        with transaction.atomic():
            run = submit_run(
                owner=sweep.owner,
                config={**with_changes(sweep.config, row.point), "seed": row.seed},
                name=_name_of(row, sweep),
                preset=sweep.preset,
                environment_version=_version_of(row, sweep),
                action="sweep",
                launched_because={"sweep": sweep.name},
                priority=sweep.priority,
            )
    except StarboardError as error:
        PlannedRun.objects.filter(pk=row.pk).update(problem=str(error))
        return False
    PlannedRun.objects.filter(pk=row.pk).update(run=run)
    return True


def _version_of(row: PlannedRun, sweep: Sweep) -> EnvironmentVersion | None:
    """None for a run whose environment differs from that of the base: it is no version that anybody saved."""
    return None if any(name.startswith("environments.") for name in row.changes) else sweep.environment_version


def _name_of(row: PlannedRun, sweep: Sweep) -> str:
    """`slip and filter: 20%, none, seed 2`, in as many characters as a name may have."""
    labels = ", ".join([*(str(row.labels[axis.name]) for axis in sweep.parsed_plan().axes), f"seed {row.seed}"])
    return f"{sweep.name[: LONGEST_NAME - 3 - min(len(labels), 50)]}: {labels[-50:]}"


def _queue_again(row: PlannedRun, run: Run, sweep: Sweep) -> bool:
    failed = run.state in FAILURES
    queued = resume_ended(run, priority=sweep.priority)
    if queued:
        PlannedRun.objects.filter(pk=row.pk).update(again=False, retries=row.retries + failed)
        record(run, None, "sweep_again", sweep=sweep.name)
    return queued


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
