"""Messages about a run that starts or ends, planned in the transaction that moves it."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from webapp.alerts.audience import audience, channels_of, new_delivery
from webapp.alerts.deliveries import dispatch_deliveries
from webapp.alerts.models import Delivery, RunEvents
from webapp.runs.models import Run
from webapp.runs.states import RunState

STARTED, FAILED = "run.started", "run.failed"
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
    detail = {
        "state": str(target),
        "reason": run.state_reason,
        "remedy": run.state_remedy,
        "step": run.step,
        "attempt": run.attempt,
    }
    rows = [
        new_delivery(chosen.user, channel, address, run=run, event=event, detail=detail)
        for chosen in audience(run)
        if _wants(chosen.run_events, event)
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
