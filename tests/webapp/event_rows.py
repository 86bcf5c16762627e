"""Event rows without a file or a bridge."""

from __future__ import annotations

from engine.events import Event
from webapp.runs.models import Run, RunEvent


def add_event(run: Run, event: Event, *, seq: int, time: float = 1.0, attempt: int = 1) -> RunEvent:
    row = RunEvent.of(run, event.stamped(seq=seq, time=time, attempt=attempt, epoch=0))
    row.save()
    return row
