"""Writes the files of a run from elsewhere into rows: one worker at a time, in chunks, so that others can write in
between."""

from __future__ import annotations

import logging
import threading

from webapp.runs.indexing import FROM_ELSEWHERE, INGESTED, UNINDEXED, unread_runs
from webapp.runs.ingesting import is_elsewhere
from webapp.runs.models import Run
from webapp.runs.verdicts import reassess
from workers import lease
from workers.bridge import Bridge
from workers.limits import current_limits
from workers.watching import watch

log = logging.getLogger(__name__)


# of the steps that a verdict stands on: a run that reports is judged again when it has so many more
JUDGED_AGAIN_AFTER = 0.05


def index(run_id: str, shutdown: threading.Event | None = None) -> bool:
    """False if there is nothing to do, or another worker does it. A later worker continues what one left undone, as at
    its `shutdown`: the lease of a worker that is gone says that there is more to do."""
    done, shutdown = False, shutdown or threading.Event()
    # columns of the run's own row alone: a condition on another table would not be checked again after a lock
    among = FROM_ELSEWHERE if Run.objects.filter(INGESTED, pk=run_id).exists() else UNINDEXED
    while (epoch := lease.take(run_id, among=among)) is not None:
        run = Run.objects.get(pk=run_id)
        try:
            with lease.renewed(run_id, epoch, current_limits()):
                advanced, alerts = _read(run, epoch, shutdown)
                if shutdown.is_set():
                    return True
                if alerts or _is_due(run):
                    reassess(Run.objects.get(pk=run_id))
        except lease.Fenced:
            log.warning("Run %s was taken over; epoch %d no longer writes", run_id, epoch)
            return False
        lease.release(run_id, epoch)
        done = True
        if not advanced or not unread_runs(run_id):
            return done  # else more has come since the file was read, and its task found the lease taken
    return done


def _read(run: Run, epoch: int, shutdown: threading.Event) -> tuple[bool, int]:
    """Reads what has come, and of a run that reports the alerts that it raises: whether anything had come, and the
    number of alerts."""
    bridge = Bridge(run, epoch)
    if not is_elsewhere(run):
        return bridge.drain(moves=False, stops=shutdown.is_set), 0
    advanced = bridge.drain(moves=False, notifies=True, stops=shutdown.is_set)
    if shutdown.is_set():
        return advanced, 0
    if alerts := watch(run):
        bridge.drain(moves=False, notifies=True)
    return advanced, alerts


def _is_due(run: Run) -> bool:
    """Whether a run that reports is to be judged again; an imported one has its verdict in its events."""
    if not is_elsewhere(run) or not run.step:
        return False
    judged = int(run.verdict.get("step", 0))
    return run.is_terminal or run.step >= judged + max(1, judged * JUDGED_AGAIN_AFTER)
