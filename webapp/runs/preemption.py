"""Pre-emption: a run of lower priority saves a checkpoint and gives up its slot to one of higher priority.

Off unless an administrator allows it (`STARBOARD_PREEMPTION`). Only the name of a priority counts, not a move in the
queue: high pre-empts normal and low, normal pre-empts low. Of several runs the one that began last goes. It returns to
the queue in its old place, and continues from its checkpoint without anybody's help.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction

from webapp.audit.services import record
from webapp.runs.models import Run
from webapp.runs.priorities import NUMBERS, priority_name
from webapp.runs.queue import beyond_limit, slots, waiting
from webapp.runs.services import refresh_and_publish
from webapp.runs.states import SUPERVISED, Request, RunState


def is_allowed() -> bool:
    return bool(getattr(settings, "STARBOARD_PREEMPTION", False))


def preempt() -> list[Run]:
    """The runs that were asked to give up their slots now: at most one for each run that waits with higher priority."""
    if not is_allowed():
        return []
    with transaction.atomic():
        holders = list(Run.objects.select_for_update().filter(state__in=SUPERVISED))
        if len(holders) < slots():
            return []
        queued = waiting()
        limited = beyond_limit(queued)
        found = to_preempt(holders, [run for run in queued if run.pk not in limited])
        for run, by in found:
            reason = f"Pre-empted by {by.name!r}, which has {priority_name(by.priority)} priority."
            Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(preempted=reason)
            record(run, None, "preempt", reason=reason)
            refresh_and_publish(run)
    return [run for run, _ in found]


def to_preempt(holders: Sequence[Run], queued: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Each run that gives up its slot, with the one that gets it. `queued` is the queue in its order; its first runs
    get the slots of those that are on their way out."""
    leaving = sum(bool(run.preempted) or run.state == RunState.STOPPING for run in holders)
    able = [run for run in holders if run.state == RunState.RUNNING and run.requested == Request.RUN]
    able = [run for run in able if not run.preempted]
    # the lowest priority first, then the one that has trained for the shortest time
    able.sort(key=lambda run: run.started_at.timestamp() if run.started_at else 0.0, reverse=True)
    able.sort(key=_rank)
    found: list[tuple[Run, Run]] = []
    for by in queued[leaving:]:
        if len(found) == len(able) or _rank(able[len(found)]) >= _rank(by):
            break
        found.append((able[len(found)], by))
    return found


def _rank(run: Run) -> int:
    return NUMBERS[priority_name(run.priority)]
