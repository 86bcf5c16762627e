"""Which run a worker takes next: a live one that nobody supervises, or the next of the queue (`webapp.runs.queue`)."""

from __future__ import annotations

import uuid

from django.db import transaction

from webapp.runs import preemption, queue
from webapp.runs.models import Run
from webapp.runs.services import enqueue, move
from webapp.runs.states import SUPERVISED, RunState
from workers import lease
from workers.restarts import end_pauses


def claim(run_id: str) -> tuple[str, int] | None:
    """A run for this worker with its epoch; None if there is nothing to do.

    That is `run_id` if it is live and nobody supervises it. Otherwise the task is only a wake-up, and the run is the
    one that the queue has next by now: the order of tasks in the broker does not matter.
    """
    epoch = lease.take(run_id)
    return (run_id, epoch) if epoch is not None else take_next()


def take_next() -> tuple[str, int] | None:
    """Moves the next queued run to *starting* under our lease; None if there is none, or no free slot."""
    end_pauses()
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and taking one act
        list(Run.objects.select_for_update().filter(state__in=SUPERVISED).values_list("pk"))
        while next_ones := queue.due()[:1]:
            run = Run.objects.get(pk=next_ones[0])
            process = {"process": {"cookie": str(uuid.uuid4())}}
            if move(run, RunState.STARTING, sources=[RunState.QUEUED], attempt=run.attempt, also=process):
                epoch = lease.take(run.pk)
                return None if epoch is None else (run.pk, epoch)
            # another worker took it, or its user stopped it
    return None


def dispatch_next() -> None:
    """Sends each run with a free slot to a worker, and updates what the others wait for. Without a free slot, runs of
    lower priority may have to give up theirs."""
    end_pauses()
    for run_id in queue.due():
        enqueue(run_id)
    preemption.preempt()
    queue.report()
