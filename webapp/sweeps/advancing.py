"""Launching the next runs of sweeps.

A sweep has at most `at_once` runs that are queued or live, so that it leaves room for others; the rest are planned
rows. Workers call `advance_all` every few seconds and whenever a run ends; a lost call loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db import InterfaceError, OperationalError, transaction

from engine.errors import StarboardError
from engine.sweeps.configurations import with_changes
from webapp.adapter_copies import copies_first
from webapp.audit.services import record
from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run
from webapp.runs.quotas import QuotaExceeded, check_resume
from webapp.runs.services import resume_ended, submit_run
from webapp.runs.states import TERMINAL, RunState
from webapp.sweeps import proposals
from webapp.sweeps.adapters import keep_adapters, kept_copy
from webapp.sweeps.endings import end, stop_if_failing
from webapp.sweeps.models import PlannedRun, Sweep, SweepState
from webapp.sweeps.proposals import FAILURES
from webapp.sweeps.pruning import prune

LONGEST_NAME = 80
LONGEST_REASON = 300
OUTAGES = (OperationalError, InterfaceError, OSError)  # of the database or the disk: they pass

log = logging.getLogger(__name__)


def advance_all() -> None:
    """Ends what the sweeps rule out, and launches the next runs of every sweep that has room for them. One that fails
    is stopped with the reason, so that it holds up no other; without a database all wait for the next call."""
    for sweep in Sweep.objects.filter(state=SweepState.RUNNING):
        try:
            _go_on(sweep)
        except OUTAGES:
            raise
        except Exception as error:
            log.exception("Sweep %s could not be advanced", sweep.pk)
            why = (
                f"It could not be advanced: {type(error).__name__}: {str(error)[:LONGEST_REASON]}. Resume tries again."
            )
            end(sweep, SweepState.STOPPED, why, failed=True)


def _go_on(sweep: Sweep) -> None:
    prune(sweep)
    if not stop_if_failing(sweep) and _live_count(sweep) < sweep.at_once:
        advance(sweep.pk)


@copies_first
def advance(pk: int) -> None:
    """Launches as many runs of the sweep as its limit allows, and plans further configurations of an adaptive search as
    they are needed. Without any that are live or left the sweep has finished."""
    while (known := _launch_planned(pk)) is not None:
        sweep = Sweep.objects.get(pk=pk)
        point = proposals.propose(sweep)  # takes a second or so, in which others may write
        with transaction.atomic():
            locked = Sweep.objects.select_for_update().get(pk=pk)
            if point is None:
                _end_if_idle(locked)
                return
            if proposals.known_count(locked) == known:  # else another worker was faster
                proposals.add(locked, point)


def _launch_planned(pk: int) -> int | None:
    """Launches what is planned, failed runs first, so that seeds are completed in order. If there is room for more of
    an adaptive search, how many configurations it has; else None."""
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and launching one act
        sweep = Sweep.objects.select_for_update().filter(pk=pk, state=SweepState.RUNNING).first()
        if sweep is None:
            return None
        keep_adapters(sweep)
        live = _live_count(sweep)
        for row in _due(sweep):
            if live >= sweep.at_once:
                return None
            live += _launch(row, sweep)
        if live < sweep.at_once and proposals.is_due(sweep):
            return proposals.known_count(sweep)
        _end_if_idle(sweep)
        return None


def _end_if_idle(sweep: Sweep) -> None:
    if not _live_count(sweep):
        end(sweep, SweepState.FINISHED)


def _live_count(sweep: Sweep) -> int:
    return sweep.planned.filter(run__isnull=False).exclude(run__state__in=TERMINAL).count()


def _due(sweep: Sweep) -> Iterable[PlannedRun]:
    """What is to be queued, in order: again what failed, or what a user asked for; then what was never launched."""
    ended = sweep.planned.filter(run__state__in=[RunState.STOPPED, *FAILURES], pruned="", problem="")
    for row in list(ended.select_related("run")):
        failed = row.run is not None and row.run.state in FAILURES
        if row.again or (failed and row.retries < sweep.retries):
            yield row
    yield from list(sweep.planned.filter(run=None, problem="", pruned=""))


def _launch(row: PlannedRun, sweep: Sweep) -> bool:
    """Whether the run is in the queue now; if not, the row says why."""
    if row.run is not None:
        return _queue_again(row, row.run, sweep)
    try:
        config = with_changes(sweep.config, row.point)
        # nothing of a run that is refused stays behind
        with transaction.atomic():
            run = submit_run(
                owner=sweep.owner,
                project=sweep.project,
                config={**config, "seed": row.seed},
                name=_name_of(row, sweep),
                preset=sweep.preset,
                environment_version=_version_of(row, sweep),
                action="sweep",
                launched_because={"sweep": sweep.name},
                priority=sweep.priority,
                adapter_copy=kept_copy(sweep, config),
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
    try:
        check_resume(run, sweep.owner)
    except QuotaExceeded as error:
        PlannedRun.objects.filter(pk=row.pk).update(problem=str(error), again=False)
        return False
    queued = resume_ended(run, priority=sweep.priority)
    if queued:
        PlannedRun.objects.filter(pk=row.pk).update(again=False, retries=row.retries + failed)
        record(run, None, "sweep_again", sweep=sweep.name)
    return queued
