"""Writes the files of an imported run into rows: one worker at a time, in chunks, so that others can write in
between."""

from __future__ import annotations

import logging

from webapp.runs.indexing import UNINDEXED
from webapp.runs.models import Run
from workers import lease
from workers.bridge import Bridge
from workers.limits import current_limits

log = logging.getLogger(__name__)


def index(run_id: str) -> bool:
    """False if there is nothing to do, or another worker does it. A later worker continues what one left undone."""
    epoch = lease.take(run_id, among=UNINDEXED)
    if epoch is None:
        return False
    try:
        with lease.renewed(run_id, epoch, current_limits()):
            Bridge(Run.objects.get(pk=run_id), epoch).drain(moves=False)
    except lease.Fenced:
        log.warning("Run %s was taken over; epoch %d no longer writes", run_id, epoch)
        return False
    lease.release(run_id, epoch)
    return True
