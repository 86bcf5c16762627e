"""Removes rows of pruned checkpoints, reservations that nobody needs, expired sessions, directories of deleted runs,
leftover uploads and copies of adapters, and empties SQLite's log."""

from __future__ import annotations

import logging
import time

from django.core.management import call_command
from django.db import OperationalError, connection

from engine.reservations import markers
from webapp.jobs import LIVE
from webapp.run_pages import removal
from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from webapp.sweeps.adapters import remove_unused_copies
from workers.bridge import drop_lost_checkpoints
from workers.imports import remove_orphans
from workers.job_kinds import KINDS

log = logging.getLogger(__name__)

RECENT_SECONDS = 600.0  # in which the row of a new job may not be there yet


def run_housekeeping() -> None:
    """What fails is logged, and the rest is done all the same."""
    tasks = (
        tidy_checkpoints, remove_expired_sessions, removal.sweep, remove_orphans, remove_unused_copies,
        empty_write_ahead_log,
    )  # fmt: skip
    for task in tasks:
        try:
            task()
        except Exception:
            log.exception("Housekeeping could not %s; the next round tries again", task.__name__.replace("_", " "))


def tidy_checkpoints() -> None:
    for run in Run.objects.filter(state__in=SUPERVISED):
        drop_lost_checkpoints(run)
        release_checkpoints(run)


def remove_expired_sessions() -> None:
    call_command("clearsessions")


def release_checkpoints(run: Run) -> None:
    """Of jobs that are over or gone: whatever ended them may have been killed before it could."""
    for marker, job in markers(run.directory / "checkpoints"):
        label, _, pk = job.rpartition(".")
        if time.time() - marker.stat().st_mtime > RECENT_SECONDS and not is_live(label, pk):
            marker.unlink(missing_ok=True)


def is_live(label: str, pk: str) -> bool:
    kind = next((kind.model for kind in KINDS if kind.model._meta.label == label), None)
    return kind is not None and kind._default_manager.filter(pk=pk, state__in=LIVE).exists()


def empty_write_ahead_log() -> None:
    """Moves SQLite's log into its database. Readers may block it: then the next round does it."""
    if connection.vendor != "sqlite":
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy, pages, moved = cursor.fetchone()
    except OperationalError as error:
        log.info("The write-ahead log is in use: %s", error)
        return
    if busy:
        log.info("The write-ahead log keeps %d of %d pages: they are in use by a reader", pages - moved, pages)
