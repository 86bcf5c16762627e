"""What an attempt of a run has reported so far, as its rows have it."""

from __future__ import annotations

from django.db.models import QuerySet

from engine.events import CheckpointSaved, EventBase, RunFailed, RunFinished, RunStarted, kind_of
from webapp.runs.models import Run, RunEvent


class Attempt:
    """The newest one of `run`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def last_event(self) -> RunFinished | RunFailed | None:
        """The event with which it reported its end, if any."""
        row = self._events(RunFinished, RunFailed).order_by("-seq").first()
        event = row.parsed() if row is not None else None
        return event if isinstance(event, RunFinished | RunFailed) else None

    def has_begun(self) -> bool:
        """Did it report that it started? One that did not would only be interrupted again, forever."""
        return self._events(RunStarted).exists()

    def has_progressed(self) -> bool:
        """Did it complete a step or save a checkpoint?"""
        stepped = self.run.steps.filter(attempt=self.run.attempt).exists()
        return stepped or self._events(CheckpointSaved).exists()

    def _events(self, *classes: type[EventBase]) -> QuerySet[RunEvent]:
        kinds = [kind_of(event) for event in classes]
        return self.run.events.filter(kind__in=kinds, attempt=self.run.attempt)
