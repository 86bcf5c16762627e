"""Messages about a run that starts or ends, or whose record is damaged, planned in the transaction that finds it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from webapp.alerts.audience import audience, channels_of, new_delivery
from webapp.alerts.deliveries import dispatch_deliveries
from webapp.alerts.models import SEVERITIES, Delivery, NotificationSettings, RunEvents
from webapp.runs.models import Run
from webapp.runs.states import RunState

STARTED, FAILED = "run.started", "run.failed"
RECORD_DAMAGED, RECORD_SEVERITY = "run.record_damaged", "critical"
EVENTS: dict[str, str] = {
    RunState.STARTING: STARTED,
    RunState.FINISHED: "run.finished",
    RunState.STOPPED: "run.stopped",
    RunState.FAILED: FAILED,
    RunState.CRASHED: FAILED,
}


def plan_run_event(run: Run, target: RunState, **_: Any) -> None:
    """A receiver of `run_moved`. The message has the state that the run is in now, also if it is retried for a day."""
    event = EVENTS.get(target)
    if event is None:
        return
    wanting = [chosen for chosen in audience(run) if _wants(chosen.run_events, event)]
    _plan(run, wanting, event, state=str(target), reason=run.state_reason, remedy=run.state_remedy)


def plan_record_damaged(run: Run, reason: str, remedy: str) -> None:
    """Events of the run may be lost. Notified are those whom a critical alert would reach."""
    rank = SEVERITIES.index(RECORD_SEVERITY)
    wanting = [chosen for chosen in audience(run) if rank >= SEVERITIES.index(chosen.least_severity)]
    _plan(run, wanting, RECORD_DAMAGED, state=str(run.state), reason=reason, remedy=remedy)


def _plan(run: Run, wanting: Iterable[NotificationSettings], event: str, **detail: str) -> None:
    now = {**detail, "step": run.step, "attempt": run.attempt}
    rows = [
        new_delivery(chosen.user, channel, address, run=run, event=event, detail=now)
        for chosen in wanting
        for channel, address in channels_of(chosen)
    ]
    if rows:
        Delivery.objects.bulk_create(rows)
        transaction.on_commit(dispatch_deliveries)


def _wants(chosen: str, event: str) -> bool:
    match chosen:
        case RunEvents.ALL:
            return True
        case RunEvents.ENDED:
            return event != STARTED
        case RunEvents.FAILED:
            return event == FAILED
        case _:
            return False
