"""Imported runs whose files are not in the database yet, and the request to a worker to index them."""

from __future__ import annotations

from django.db.models import Q
from kombu.exceptions import OperationalError

from workers.app import INDEX, app

# not started (no byte read), or in progress or interrupted (a worker holds or held the lease)
UNINDEXED = ~Q(imported_from="") & (Q(event_offset=0) | ~Q(lease_holder=""))


def send_for_index(run_id: str) -> bool:
    """Asks a worker to bring the run's files into rows. With no broker it waits: `tend` looks for such runs."""
    try:
        app.signature(INDEX, args=[run_id]).apply_async(retry=False)
    except (OperationalError, OSError):
        return False
    return True
