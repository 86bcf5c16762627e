"""The queue of runs: at most `STARBOARD_MAX_PARALLEL_RUNS` engines at once, first come, first served.

A queued run is a row and uses no resources. What it waits for is written in the row for users.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from webapp.runs.models import Run
from webapp.runs.services import NO_WORKER_YET, enqueue, move
from webapp.runs.states import SUPERVISED, RunState
from webapp.updates import publish_run
from workers import lease

MANY = 20
REASON_LENGTH = 200


def slots() -> int:
    return int(getattr(settings, "STARBOARD_MAX_PARALLEL_RUNS", 1))


def take_turn(run_id: str) -> int | None:
    """Moves the next queued run to *starting* under our lease; its epoch, or None if it has to wait."""
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and taking one act
        list(Run.objects.select_for_update().filter(state__in=SUPERVISED).values_list("pk"))
        if run_id not in due():
            return None
        run = Run.objects.get(pk=run_id)
        process = {"process": {"cookie": str(uuid.uuid4())}}
        if not move(run, RunState.STARTING, sources=[RunState.QUEUED], attempt=run.attempt, also=process):
            return None
        return lease.take(run_id)


def due() -> list[str]:
    """The queued runs that have a free slot, oldest first."""
    free = slots() - Run.objects.filter(_holds_a_slot()).count()
    return list(_queue().values_list("pk", flat=True)[: max(0, free)])


def _holds_a_slot() -> Q:
    """A run keeps its slot while it waits between a failure and its restart."""
    return Q(state__in=SUPERVISED) | Q(state=RunState.QUEUED, restart_at__gt=timezone.now())


def _queue() -> QuerySet[Run]:
    return Run.objects.filter(state=RunState.QUEUED).exclude(_holds_a_slot()).order_by("queued_at", "pk")


def dispatch_next() -> None:
    """Sends each run with a free slot to a worker, and updates what the others wait for."""
    for run_id in due():
        enqueue(run_id)
    report_queue_positions()


def report_queue_positions() -> None:
    live = list(Run.objects.filter(_holds_a_slot()).order_by("queued_at").values_list("name", flat=True))
    free = slots() - len(live)
    for position, run in enumerate(_queue().only("pk", "wait_reason", "last_seq")):
        reason = wait_reason(ahead=position - max(0, free), live=live, slots=slots())
        if reason != run.wait_reason:
            Run.objects.filter(pk=run.pk, state=RunState.QUEUED).update(wait_reason=reason)
            publish_run(run.pk, run.last_seq)


def wait_reason(*, ahead: int, live: list[str], slots: int) -> str:
    """What a queued run waits for. `ahead` is the number of queued runs before it; below 0, a slot is free."""
    if ahead < 0:
        return NO_WORKER_YET
    usage = f"({len(live)} of {slots} engine slots in use)"
    if ahead:
        others = "1 queued run" if ahead == 1 else f"{ahead if ahead <= MANY else f'more than {MANY}'} queued runs"
        return f"Waits for {others} before it {usage}"
    names = " or ".join(f"'{name}'" for name in live[:3])
    names = names if len(names) <= REASON_LENGTH - 60 else names[: REASON_LENGTH - 60] + "…"
    return f"Waits for {names} to finish {usage}"
