"""Supervises one run under its lease: starts or adopts its engine, forwards requests, reads its events, and records
how it ended. A supervisor may end at any time (shutdown, kill -9, lost lease): the engine continues, and another
supervisor takes over.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from typing import Any

from django.db import InterfaceError, OperationalError, connection
from django.db.models import QuerySet
from django.utils import timezone
from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field
from engine.events import CheckpointSaved, ClusterReleased, EventBase, RunFailed, RunFinished, RunStarted, kind_of
from webapp.alerts.actions import launch_fork
from webapp.logs import bound
from webapp.runs.models import Run, RunEvent
from webapp.runs.recorded_events import newest_of
from webapp.runs.services import move, queue_again
from webapp.runs.states import Request, RunState
from webapp.updates import publish_run
from workers import lease
from workers.about_run import write_about
from workers.bridge import Bridge
from workers.condition import Assessment, AssessmentTimer, Condition, Evidence, assess, is_full, progress_limit
from workers.control import write_control, write_json
from workers.endings import INTERRUPTED_EXIT, Ending, ending_of, proof_of
from workers.engine_handle import EngineHandle, Escalation, handle_of_child
from workers.engine_log import cap
from workers.gpus import gpus_after
from workers.heartbeat import Pulse
from workers.ingestion import Behind, of_this_worker
from workers.lease import Fenced
from workers.limits import Limits, current_limits
from workers.memory_killer import MemoryKiller
from workers.process import Liveness, Sweep, find_leader, identity_from_row, send_signal, start_engine, sweep
from workers.record_problems import Lag, behind, save_problems
from workers.restarts import after_fault
from workers.stall_report import where_it_hangs
from workers.suspension import is_interrupted, lock_of
from workers.tail import log_tail, truncate_partial_line

log = logging.getLogger(__name__)

REQUEST_FIELDS = [
    "epoch", "state", "requested", "checkpoint_requests", "stop_requests", "stop_requested_at",
    "settings_revision", "settings_changes", "preempted",
]  # fmt: skip
OUTAGE_PAUSE = 1.0
FINISHING = frozenset({"update", "checkpoint"})  # phases that a stopping engine completes
STOPPED_BEFORE_START = Ending(state=RunState.STOPPED, reason="Stopped before its engine started.")


class Every:
    """A timer: `due` is True once per period."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.next = 0.0

    def due(self) -> bool:
        now = time.monotonic()
        if now < self.next:
            return False
        self.next = now + self.seconds
        return True


def supervise(run_id: str, epoch: int, shutdown: threading.Event) -> None:
    """Until the run has ended, the lease is lost, or the worker shuts down."""
    limits = current_limits()
    try:
        with bound(run_id=run_id), lease.renewed(run_id, epoch, limits):
            log.info("Supervising run %s in epoch %d", run_id, epoch)
            Supervisor(Run.objects.get(pk=run_id), epoch, shutdown, limits).supervise()
            log.info("Supervised run %s until its end, or that of this worker", run_id)
    except Fenced:
        log.warning("Run %s was taken over; epoch %d no longer writes", run_id, epoch)
    finally:
        of_this_worker.forget(run_id)


class Supervisor:
    def __init__(self, run: Run, epoch: int, shutdown: threading.Event, limits: Limits) -> None:
        self.run = run
        self.epoch = epoch
        self.shutdown = shutdown
        self.limits = limits
        self.bridge = Bridge(run, epoch)
        self.memory_killer = MemoryKiller()
        self.pulse = Pulse(run.directory / "heartbeat.json", cookie=run.process.get("cookie", ""))
        self.lag = Lag(limits.silent)
        self.escalation = Escalation(limits)
        self.assessment_timer = AssessmentTimer(limits.assess)
        self.requests_due = Every(limits.requests)
        self.heartbeat_due = Every(min(1.0, limits.assess))
        self.written_request: tuple[str, int, int] | None = None
        self.last_event_at: float | None = None
        self.asked_to_yield = False  # a supervisor that takes over asks again, which does no harm

    def supervise(self) -> None:
        of_this_worker.observe(self.run.pk, Behind())
        self.bridge.drain()
        engine = self._engine()
        if engine is None:
            return
        while not self.shutdown.is_set():
            try:
                if self._round(engine):
                    return
            except (OperationalError, InterfaceError, OSError) as error:
                self._wait_out_outage(error)
            self._wait_for_events()
        lease.release(self.run.pk, self.epoch)

    def _wait_for_events(self) -> None:
        """For one poll at most. Reading the file's size costs microseconds; a whole round does not."""
        until = time.monotonic() + self.limits.poll
        while time.monotonic() < until and not self.shutdown.wait(min(self.limits.file_poll, self.limits.poll)):
            if self.bridge.has_unread_events():
                return

    def _round(self, engine: EngineHandle) -> bool:
        """One check of everything; True when the run has ended."""
        if self.requests_due.due():
            self._apply_requests(engine)
        alive = engine.liveness()  # checked before reading, so that the last events of a dying engine are read
        if self.bridge.drain():
            self.pulse.note_progress()
        if self.heartbeat_due.due():
            self._read_heartbeat()
        if alive is Liveness.GONE or self._is_abandoned(alive):
            self._conclude(engine, alive)
            return True
        if self.assessment_timer.is_due():
            self._act_on(assess(self._evidence(alive), self.limits), engine)
        return False

    # --- the engine ---

    def _engine(self) -> EngineHandle | None:
        """The engine to supervise: the one in the row, the one with the row's cookie, or a new one. None if there can
        be none."""
        cookie = self.run.process["cookie"]
        identity = identity_from_row(self.run.process)
        if identity is None and (identity := find_leader(cookie)) is not None:
            self._write(process=identity.as_row())
        if identity is not None:
            return EngineHandle(identity=identity, lock=lock_of(self.run))
        if self.run.state in (RunState.STARTING, RunState.STALLED) and self._last_event() is None:
            return self._start(cookie)
        never_there = self.run.state == RunState.STOPPING and not self._has_begun()
        ending = STOPPED_BEFORE_START if never_there else self._ending(None)
        self._end(ending, sweep(cookie, seconds=self.limits.sweep), exit_status=None)
        return None

    def _start(self, cookie: str) -> EngineHandle | None:
        try:
            self._prepare_directory()
            self._apply_requests(None)
            child = start_engine(
                self.run.directory,
                cookie=cookie,
                attempt=self.run.attempt,
                epoch=self.epoch,
                resume=self.run.attempt > 1 or self.run.last_seq > 0,
            )
        except ValidationError as error:
            self._fail_to_start(
                "The configuration cannot be used:\n" + _problems(error), "Clone the run and fix these fields."
            )
            return None
        except OSError as error:
            self._fail_to_start(
                f"The run directory {self.run.directory} cannot be used: {error.strerror or error}.",
                "Make it writable for the worker, check that the disk has space, then resume.",
            )
            return None
        handle = handle_of_child(child, cookie, lock_of(self.run))
        self._write(process=handle.identity.as_row())
        return handle

    def _prepare_directory(self) -> None:
        config = self.run.parsed_config()
        self.run.directory.mkdir(parents=True, exist_ok=True)
        lock_of(self.run).touch()
        truncate_partial_line(self.run.directory / "events.jsonl")
        write_json(self.run.directory / "config.json", config.model_dump(mode="json"))
        write_about(self.run)

    def _fail_to_start(self, reason: str, remedy: str) -> None:
        move(self.run, RunState.FAILED, reason=reason, remedy=remedy, epoch=self.epoch, attempt=self.run.attempt)

    # --- requests of users ---

    def _apply_requests(self, engine: EngineHandle | None) -> None:
        """Reads the row's requests; forwards new ones to the engine, and escalates a stop."""
        self.run.refresh_from_db(fields=REQUEST_FIELDS)
        if self.run.epoch != self.epoch:
            raise Fenced(self.run.pk)
        wanted = (self.run.requested, self.run.checkpoint_requests, self.run.settings_revision)
        if wanted != self.written_request:
            settings = {"revision": wanted[2], "changes": self.run.settings_changes}
            try:
                write_control(
                    self.run.directory, request=wanted[0], checkpoint=wanted[1], epoch=self.epoch, settings=settings
                )
                self.written_request = wanted
            except OSError as error:
                if engine is None:
                    raise
                log.warning("Run %s: control.json cannot be written, retrying: %s", self.run.pk, error)
        if engine is not None:
            self.escalation.advance(engine, stop_requests=self.run.stop_requests, overdue=self._overdue())
            self._preempt_if_asked(engine)

    def _preempt_if_asked(self, engine: EngineHandle) -> None:
        """The signal by which engines save a checkpoint and exit, to be resumed later. One is enough, and nothing
        follows it: an engine that takes its time only keeps its slot for longer."""
        if self.run.preempted and not self.asked_to_yield and self.run.requested != Request.STOP:
            self.asked_to_yield = True
            send_signal(engine.identity, signal.SIGTERM)

    def _overdue(self) -> bool:
        if self.last_event_at is None and self._last_event() is not None:
            self.last_event_at = time.monotonic()
        exit_overdue = self.last_event_at is not None and time.monotonic() - self.last_event_at > self.limits.exit_grace
        return exit_overdue or self._stop_age() > self._stop_grace()

    def _stop_grace(self) -> float:
        """Longer for an engine whose heartbeats say that it is finishing: ended during a save, it loses its work."""
        finishing = self.pulse.phase() in FINISHING and self.pulse.beat_age() <= self.limits.silent
        return self.limits.finish_grace if finishing else self.limits.stop_grace

    def _stop_age(self) -> float:
        since = self.run.stop_requested_at
        return (timezone.now() - since).total_seconds() if since and self.run.requested == Request.STOP else 0.0

    # --- condition ---

    def _read_heartbeat(self) -> None:
        if self.pulse.poll():
            self._write(last_heartbeat_at=timezone.now())
        cap(self.run.directory / "engine.log")
        stored = self.run.last_seq + self.run.lines_refused
        now, recorded = time.monotonic(), self.pulse.recorded()
        lasts = self.lag.observe(recorded, stored, now=now)
        of_this_worker.observe(self.run.pk, Behind(max(0, recorded - stored), self.lag.duration(now)))
        if lasts:
            save_problems(self.run, [behind(self.run, recorded)])

    def _evidence(self, alive: Liveness) -> Evidence:
        return Evidence(
            liveness=alive,
            beat_age=self.pulse.beat_age(),
            progress_age=self.pulse.progress_age(),
            state=self.run.state,
            progress_limit=progress_limit(self.run, self.limits),
            disk_full=is_full(self.run.directory),
        )

    def _act_on(self, assessment: Assessment, engine: EngineHandle) -> None:
        target = self._state_for(assessment.condition)
        if target is not None and target != self.run.state and self.run.state != RunState.STOPPING:
            here = where_it_hangs(self.run.directory, engine.identity) if target is RunState.STALLED else ""
            reason = f"{assessment.reason} {here}".strip()
            move(self.run, target, reason=reason, remedy=assessment.remedy, epoch=self.epoch)

    def _state_for(self, verdict: Condition) -> RunState | None:
        if verdict is Condition.STALLED:
            return RunState.STALLED
        if verdict is Condition.LOST:
            return RunState.LOST
        if self.run.state not in (RunState.STALLED, RunState.LOST):
            return None
        return RunState.PAUSED if self.run.phase == "paused" else RunState.RUNNING

    def _is_abandoned(self, alive: Liveness) -> bool:
        """A run on a machine that cannot be reached ends when its user stops it, without proof."""
        silent = self.pulse.beat_age() > self.limits.silent
        return alive is Liveness.UNKNOWN and silent and self._stop_age() > self.limits.stop_grace

    # --- the end ---

    def _conclude(self, engine: EngineHandle, alive: Liveness) -> None:
        swept = sweep(engine.identity.cookie, seconds=self.limits.sweep)
        if alive is Liveness.UNKNOWN:
            swept = Sweep(killed=swept.killed, left=[engine.identity.pid])
        self.bridge.drain()
        self.run.refresh_from_db(fields=["requested", "state", "pruned", "preempted"])
        status = engine.exit_status()
        killer = self.memory_killer.report_on(engine.identity, status)
        self._end(self._ending(status, killer), swept, exit_status=status)

    def _ending(self, exit_status: int | None, killer: str = "") -> Ending:
        return ending_of(
            self._last_event(),
            exit_status,
            begun=self._has_begun(),
            stop_requested=self.run.requested == Request.STOP,
            interrupted=is_interrupted(self.run) or (self._was_asked_to_yield(exit_status) and self._has_begun()),
            log=log_tail(self.run.directory / "engine.log"),
            preempted=self.run.preempted,
            pruned=self.run.pruned,
            killer=killer,
        )

    def _was_asked_to_yield(self, exit_status: int | None) -> bool:
        """The exit status of an adopted engine is unknown."""
        return exit_status == INTERRUPTED_EXIT or bool(self.run.preempted)

    def _last_event(self) -> RunFinished | RunFailed | None:
        """The event with which this attempt reported its end, if any."""
        row = self._events(RunFinished, RunFailed).order_by("-seq").first()
        event = row.parsed() if row is not None else None
        return event if isinstance(event, RunFinished | RunFailed) else None

    def _has_begun(self) -> bool:
        """Did this attempt report that it started? One that did not would only be interrupted again, forever."""
        return self._events(RunStarted).exists()

    def _has_progressed(self) -> bool:
        """Did this attempt complete a step or save a checkpoint?"""
        stepped = self.run.steps.filter(attempt=self.run.attempt).exists()
        return stepped or self._events(CheckpointSaved).exists()

    def _events(self, *classes: type[EventBase]) -> QuerySet[RunEvent]:
        """Events of this attempt."""
        kinds = [kind_of(event) for event in classes]
        return self.run.events.filter(kind__in=kinds, attempt=self.run.attempt)

    def _end(self, ending: Ending, swept: Sweep, *, exit_status: int | None) -> None:
        fields: dict[str, Any] = {}
        if ending.retryable and not swept.left and self.run.requested != Request.STOP:
            ending, fields = after_fault(
                self.run, ending, progressed=self._has_progressed(), pauses=self.limits.restart_pauses
            )
        if ending.state == RunState.QUEUED:
            if not queue_again(self.run, reason=ending.reason, epoch=self.epoch, also=fields):
                self._end_as_requested(swept, exit_status=exit_status)
            return
        last = self.run.last_progress
        released = newest_of(self.run, ClusterReleased, attempt=self.run.attempt)
        proof = proof_of(
            swept,
            how=self.escalation.how,
            exit_status=exit_status,
            time=time.time(),
            gpus=gpus_after(self.run, swept),
            cluster=released.message if released else "",
        )
        fields |= {
            "finished_at": last if last and last >= self.run.queued_at else timezone.now(),
            "stop_proof": proof,
        }
        if not move(
            self.run,
            ending.state,
            reason=f"{ending.reason} {self._forked(ending)}".rstrip(),
            remedy=ending.remedy,
            epoch=self.epoch,
            attempt=self.run.attempt,
            also=fields,
        ):
            raise Fenced(self.run.pk)
        self.run.refresh_from_db()
        write_about(self.run)
        log.info("Run %s ended: %s", self.run.pk, ending.state)

    def _forked(self, ending: Ending) -> str:
        """Called before the run has ended: if this worker ends in between, the next one finds the fork."""
        if ending.fork_before is None:
            return ""
        if not Run.objects.filter(pk=self.run.pk, epoch=self.epoch).exists():
            raise Fenced(self.run.pk)
        return launch_fork(self.run, before=ending.fork_before)

    def _end_as_requested(self, swept: Sweep, *, exit_status: int | None) -> None:
        """The run was to be queued again, but a stop came first; if not that, it is no longer ours."""
        self.run.refresh_from_db()
        if self.run.epoch != self.epoch or self.run.state != RunState.STOPPING:
            raise Fenced(self.run.pk)
        self._end(self._ending(exit_status), swept, exit_status=exit_status)

    # --- rows ---

    def _write(self, **fields: object) -> None:
        if not Run.objects.filter(pk=self.run.pk, epoch=self.epoch).update(**fields):
            raise Fenced(self.run.pk)
        for name, value in fields.items():
            setattr(self.run, name, value)
        publish_run(self.run.pk, self.run.last_seq)

    def _wait_out_outage(self, error: Exception) -> None:
        """The database or the disk is unavailable: wait, then read everything again, without assessing the engine
        meanwhile."""
        log.warning("Run %s: the database or the run directory is unavailable: %s", self.run.pk, error)
        self.shutdown.wait(OUTAGE_PAUSE)
        connection.close()
        self.assessment_timer.pause()
        try:
            self.run.refresh_from_db()
        except (OperationalError, InterfaceError):
            return
        if self.run.epoch != self.epoch:
            raise Fenced(self.run.pk)
        self.bridge = Bridge(self.run, self.epoch)


def _problems(error: ValidationError) -> str:
    return "\n".join(f"{field or 'config'}: {reason}" for field, reason in problems_by_field(error, RunConfig))
