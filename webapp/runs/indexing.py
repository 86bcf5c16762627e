"""Imported runs whose files are not in the database yet, and the request to a worker to index them."""

from __future__ import annotations

from django.db.models import Q

from webapp.broker import send_task
from workers.app import INDEX

# not started (no byte read), or in progress or interrupted (a worker holds or held the lease)
UNINDEXED = ~Q(imported_from="") & (Q(event_offset=0) | ~Q(lease_holder=""))


def enqueue_index(run_id: str) -> bool:
    """Sends the task that indexes the run's files. Without a broker it waits for `adopt_unsupervised_runs`."""
    return send_task(INDEX, run_id, otherwise=f"The files of run {run_id} are indexed later")
