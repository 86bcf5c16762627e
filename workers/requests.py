"""Forwards what users request of a run (pause, stop, checkpoint, settings) to its engine, and ends an engine that does
not stop in time."""

from __future__ import annotations

import logging
import signal
import time

from webapp.runs.models import Run
from webapp.runs.states import Request
from workers.attempt import Attempt
from workers.control import write_control
from workers.engine_handle import EngineHandle, Escalation
from workers.heartbeat import Pulse
from workers.lease import Fenced
from workers.limits import Limits
from workers.process import send_signal

log = logging.getLogger(__name__)

REQUEST_FIELDS = [
    "epoch", "state", "requested", "checkpoint_requests", "stop_requests", "stop_requested_at",
    "settings_revision", "settings_changes", "preempted",
]  # fmt: skip
FINISHING = frozenset({"update", "checkpoint"})  # phases that a stopping engine completes


class Requests:
    """Ages count from when this supervisor first saw a request or event, by the monotonic clock, so that a jump of the
    wall clock ends no engine early."""

    def __init__(self, run: Run, epoch: int, limits: Limits, pulse: Pulse, attempt: Attempt) -> None:
        self.run = run
        self.epoch = epoch
        self.limits = limits
        self.pulse = pulse
        self.attempt = attempt
        self.escalation = Escalation(limits)
        self.written: tuple[str, int, int] | None = None
        self.last_event_at: float | None = None
        self.stop_seen_at: float | None = None
        self.asked_to_yield = False  # a supervisor that takes over asks again, which does no harm

    def apply(self, engine: EngineHandle | None) -> None:
        """Reads the row's requests; forwards new ones to the engine, and escalates a stop."""
        self.run.refresh_from_db(fields=REQUEST_FIELDS)
        if self.run.epoch != self.epoch:
            raise Fenced(self.run.pk)
        wanted = (self.run.requested, self.run.checkpoint_requests, self.run.settings_revision)
        if wanted != self.written:
            settings = {"revision": wanted[2], "changes": self.run.settings_changes}
            try:
                write_control(
                    self.run.directory, request=wanted[0], checkpoint=wanted[1], epoch=self.epoch, settings=settings
                )
                self.written = wanted
            except OSError as error:
                if engine is None:
                    raise
                log.warning("Run %s: control.json cannot be written, retrying: %s", self.run.pk, error)
        if engine is not None:
            self.escalation.advance(engine, stop_requests=self.run.stop_requests, overdue=self._overdue())
            self._preempt_if_asked(engine)

    def stop_age(self) -> float:
        """Seconds since the request to stop was seen; 0 without one."""
        if self.run.requested != Request.STOP:
            self.stop_seen_at = None
            return 0.0
        if self.stop_seen_at is None:
            self.stop_seen_at = time.monotonic()
        return time.monotonic() - self.stop_seen_at

    def _preempt_if_asked(self, engine: EngineHandle) -> None:
        """The signal by which engines save a checkpoint and exit, to be resumed later. One is enough, and nothing
        follows it: an engine that takes its time only keeps its slot for longer."""
        if self.run.preempted and not self.asked_to_yield and self.run.requested != Request.STOP:
            self.asked_to_yield = True
            send_signal(engine.identity, signal.SIGTERM)

    def _overdue(self) -> bool:
        if self.last_event_at is None and self.attempt.last_event() is not None:
            self.last_event_at = time.monotonic()
        exit_overdue = self.last_event_at is not None and time.monotonic() - self.last_event_at > self.limits.exit_grace
        return exit_overdue or self.stop_age() > self._stop_grace()

    def _stop_grace(self) -> float:
        """Longer for an engine whose heartbeats say that it is finishing: ended during a save, it loses its work."""
        finishing = self.pulse.phase() in FINISHING and self.pulse.beat_age() <= self.limits.silent
        return self.limits.finish_grace if finishing else self.limits.stop_grace
