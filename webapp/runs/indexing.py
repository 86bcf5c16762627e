"""Runs from elsewhere whose files are not in the database yet, and the request to a worker to index them."""

from __future__ import annotations

from django.db.models import F, Q

from webapp.broker import send_task
from webapp.runs.models import Run
from workers.app import INDEX

FROM_ELSEWHERE = ~Q(imported_from="")
# not started (no byte read), or in progress or interrupted (a worker holds or held the lease)
UNINDEXED = FROM_ELSEWHERE & (Q(event_offset=0) | ~Q(lease_holder=""))

INGESTED = Q(ingestion__isnull=False)  # their files grow


def unread_runs(*among: str) -> list[str]:
    """Runs that report and have events which no worker has read yet; only those `among`, if any are given."""
    unread = Run.objects.filter(INGESTED, last_seq__lt=F("ingestion__written_seq"))
    return list((unread.filter(pk__in=among) if among else unread).values_list("pk", flat=True))


def enqueue_index(run_id: str) -> bool:
    """Sends the task that indexes the run's files. Without a broker it waits for `adopt_unsupervised_runs`."""
    return send_task(INDEX, run_id, otherwise=f"The files of run {run_id} are indexed later")
