"""Removes rows of pruned checkpoints, expired sessions, directories of deleted runs and leftover uploads, and empties
SQLite's log."""

from __future__ import annotations

import logging

from django.core.management import call_command
from django.db import OperationalError, connection

from webapp.run_pages import removal
from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from workers.bridge import drop_lost_checkpoints
from workers.imports import remove_orphans

log = logging.getLogger(__name__)


def run_housekeeping() -> None:
    for run in Run.objects.filter(state__in=SUPERVISED):
        drop_lost_checkpoints(run)
    call_command("clearsessions")
    removal.sweep()
    remove_orphans()
    empty_write_ahead_log()


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
