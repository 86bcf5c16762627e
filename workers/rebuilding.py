"""Rebuilds the rows of a run from its `events.jsonl`, except those that its files no longer have.

Of trajectories that the run's retention removed, the events have only the number. Rows of them in the database are
retained if they are the removed ones by the events.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction

from engine.errors import RunDirectoryError
from engine.events import TrajectoriesRecorded, TrajectoriesRemoved, kind_of
from webapp.runs.metric_ranges import measure_again
from webapp.runs.models import Alert, Checkpoint, RecordProblem, Run, RunEvent
from webapp.trajectories.models import Trajectory
from workers.bridge import Bridge, forget_all
from workers.lease import seize

READ = [kind_of(event) for event in (TrajectoriesRecorded, TrajectoriesRemoved)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Trajectories that the retention of a run removed: those with a row, and those without."""

    kept: int
    gone: int


def rebuild(run_id: str) -> Run:
    """The supervisor, if any, is fenced off, and another one adopts the run. `RunDirectoryError` without a file: all
    rows would be lost.

    One transaction, so that readers never see a part, and nothing is to be repaired if this process is killed. It holds
    SQLite's write lock for as long as the file takes (docs/reliability.md).
    """
    if not (Run.objects.get(pk=run_id).directory / "events.jsonl").exists():
        raise RunDirectoryError(
            f"Run {run_id} has no events.jsonl, so its rows were left as they are.",
            remedy="Bring the file back from a backup, or from the bucket with manage.py fetch_runs.",
        )
    epoch = seize(run_id)
    run = Run.objects.get(pk=run_id)
    with without_garbage_collection(), transaction.atomic():
        spared, known = _missing_files(run), run.last_seq
        forget_all(run, spared)
        for rows in (RunEvent, Checkpoint, Alert, RecordProblem):
            rows.objects.filter(run=run).delete()
        blank = {
            "event_offset": 0, "event_tail": "", "last_seq": 0, "lines_refused": 0, "step": 0, "phase": "", "tokens": 0,
            "seconds": 0.0, "metrics": {}, "verdict": {}, "started_at": None, "last_progress": None, "lease_holder": "",
            "lease_expires": None,
        }  # fmt: skip
        Run.objects.filter(pk=run_id, epoch=epoch).update(**blank)
        measure_again(run)
        run.refresh_from_db()
        Bridge(run, epoch, spared=spared).drain(moves=False)
        sound = {path for path, recorded in _removed_files(run).items() if recorded.seq <= known}
        Trajectory.all_attempts.filter(run=run, file__in=spared - sound).delete()
    return Run.objects.get(pk=run_id)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Events and rows make no reference cycles, and to look for them takes almost half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def removed_trajectories(run: Run) -> Removed:
    recorded = sum(event.count for event in _removed_files(run).values())
    kept = Trajectory.all_attempts.filter(run=run, removed=True).count()
    return Removed(kept=kept, gone=max(0, recorded - kept))


def _missing_files(run: Run) -> frozenset[str]:
    """Files of removed trajectories, without those that were restored: they are read again."""
    removed = Trajectory.all_attempts.filter(run=run, removed=True).order_by().values_list("file", flat=True).distinct()
    return frozenset(file for file in removed if not (run.directory / file).exists())


def _removed_files(run: Run) -> dict[str, TrajectoriesRecorded]:
    """By the events: files that have been removed, each with its newest recording."""
    recorded: dict[str, TrajectoriesRecorded] = {}
    removed: set[str] = set()
    for row in run.events.filter(kind__in=READ).order_by("seq"):
        match row.parsed():
            case TrajectoriesRecorded() as event:
                recorded[event.path] = event
                removed.discard(event.path)
            case TrajectoriesRemoved(paths=paths):
                removed |= set(paths)
    return {path: recorded[path] for path in removed & recorded.keys()}
