"""Supervises one run under its lease: starts or adopts its engine, forwards requests, reads its events, and records
how it ended. A supervisor may end at any time (shutdown, kill -9, lost lease): the engine continues, and another
supervisor takes over.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from pydantic import ValidationError

from engine.events import ClusterReleased
from webapp.alerts.actions import launch_fork
from webapp.logs import bound
from webapp.runs.models import Run
from webapp.runs.recorded_events import newest_of
from webapp.runs.services import move, queue_again
from webapp.runs.states import EndCause, Request, RunState, StopRequester
from webapp.updates import publish_run
from workers import lease
from workers.about_run import write_about
from workers.attempt import Attempt
from workers.bridge import Bridge
from workers.condition import Assessment, AssessmentTimer, Condition, Evidence, assess, is_full, progress_limit
from workers.endings import INTERRUPTED_EXIT, Ending, ending_of, proof_of
from workers.engine_handle import EngineHandle, sweep_run
from workers.engine_log import cap
from workers.gpus import gpus_after
from workers.heartbeat import Pulse
from workers.ingestion import Behind, of_this_worker
from workers.lease import Fenced
from workers.limits import Limits, current_limits
from workers.memory_killer import MemoryKiller
from workers.process import Liveness, Sweep, boot_id, find_leader, identity_from_row
from workers.record_problems import Lag, behind, save_problems
from workers.requests import Requests
from workers.restarts import after_fault
from workers.stall_report import where_it_hangs
from workers.starting import prepare_directory, start, why_not_started
from workers.suspension import is_interrupted
from workers.tail import log_tail

log = logging.getLogger(__name__)

OUTAGE_PAUSE = 1.0
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
        self.attempt = Attempt(run)
        self.requests = Requests(run, epoch, limits, self.pulse, self.attempt)
        self.assessment_timer = AssessmentTimer(limits.assess)
        self.requests_due = Every(limits.requests)
        self.heartbeat_due = Every(min(1.0, limits.assess))

    def supervise(self) -> None:
        of_this_worker.observe(self.run.pk, Behind())
        running = self._running_engine()
        self._drain(running)
        if not self.shutdown.is_set():
            engine = running or self._engine()
            if engine is None:
                return
            if self._watch(engine):
                return
        lease.release(self.run.pk, self.epoch)

    def _watch(self, engine: EngineHandle) -> bool:
        """Until the run has ended, which is True, or the worker shuts down."""
        while not self.shutdown.is_set():
            try:
                if self._round(engine):
                    return True
            except (OperationalError, InterfaceError, OSError) as error:
                self._wait_out_outage(error)
            self._wait_for_events()
        return False

    def _wait_for_events(self) -> None:
        """For one poll at most. Reading the file's size costs microseconds; a whole round does not."""
        until = time.monotonic() + self.limits.poll
        while time.monotonic() < until and not self.shutdown.wait(min(self.limits.file_poll, self.limits.poll)):
            if self.bridge.has_unread_events():
                return

    def _round(self, engine: EngineHandle) -> bool:
        """One check of everything; True when the run has ended."""
        alive = engine.liveness()  # checked before reading, so that the last events of a dying engine are read
        if self._drain(engine):
            self.pulse.note_progress()
        if self.shutdown.is_set():
            return False  # events may be unread
        if self.heartbeat_due.due():
            self._read_heartbeat()
        if alive is Liveness.GONE or self._is_abandoned(alive):
            self._conclude(engine, alive)
            return True
        if self.assessment_timer.is_due():
            self._act_on(assess(self._evidence(alive), self.limits), engine)
        return False

    def _drain(self, engine: EngineHandle | None) -> bool:
        """Requests reach the engine first, and however many events are unread. A shutdown leaves some unread."""
        if engine is None:
            return self.bridge.drain(stops=self.shutdown.is_set)
        self._apply_requests(engine)
        return self.bridge.drain(between=lambda: self._apply_requests(engine), stops=self.shutdown.is_set)

    def _apply_requests(self, engine: EngineHandle) -> None:
        if self.requests_due.due():
            self._hear()  # an engine that says that it saves is given longer to stop
            self.requests.apply(engine)

    # --- the engine ---

    def _running_engine(self) -> EngineHandle | None:
        """The one in the row, or the one with the row's cookie."""
        identity = identity_from_row(self.run.process)
        if identity is None and (identity := find_leader(self.run.process["cookie"])) is not None:
            self._write(process=identity.as_row())
        return None if identity is None else EngineHandle(identity=identity, run_dir=self.run.directory)

    def _engine(self) -> EngineHandle | None:
        """A new engine, once all events are read. None if there can be none."""
        cookie = self.run.process["cookie"]
        if self.run.state in (RunState.STARTING, RunState.STALLED) and self.attempt.last_event() is None:
            return self._start()
        never_there = self.run.state == RunState.STOPPING and not self.attempt.has_begun()
        ending = STOPPED_BEFORE_START if never_there else self._ending(None)
        swept = sweep_run(cookie, self.run.directory, seconds=self.limits.sweep, begun=self.attempt.has_begun())
        self._end(ending, swept, exit_status=None)
        return None

    def _start(self) -> EngineHandle | None:
        try:
            prepare_directory(self.run)
            self.requests.apply(None)
            identity = start(self.run, self.epoch)
        except (ValidationError, OSError) as error:
            self._fail_to_start(why_not_started(self.run.directory, error))
            return None
        self._write(process=identity.as_row())
        return EngineHandle(identity=identity, run_dir=self.run.directory)

    def _fail_to_start(self, ending: Ending) -> None:
        if ending.retryable:
            self._end(ending, Sweep(killed=[], left=[]), exit_status=None)
            return
        move(
            self.run,
            ending.state,
            reason=ending.reason,
            remedy=ending.remedy,
            epoch=self.epoch,
            attempt=self.run.attempt,
            also={"end_cause": ending.cause},
        )

    # --- condition ---

    def _hear(self) -> None:
        if self.pulse.poll():
            self._write(last_heartbeat_at=timezone.now())

    def _read_heartbeat(self) -> None:
        self._hear()
        cap(self.run.directory / "engine.log")
        stored = self.run.last_seq + self.run.lines_refused
        now, recorded = time.monotonic(), self.pulse.recorded()
        lasts = self.lag.observe(recorded, stored, now=now)
        of_this_worker.observe(self.run.pk, Behind(max(0, recorded - stored), self.lag.duration(now)))
        if lasts:
            save_problems(self.run, [behind(self.run, recorded)])

    def _compare_with_heartbeat(self) -> None:
        """Of an engine that has ended: what it recorded and is in no file."""
        self.pulse.poll()
        if (recorded := self.pulse.recorded()) > self.run.last_seq + self.run.lines_refused:
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

    def _state_for(self, condition: Condition) -> RunState | None:
        if condition is Condition.STALLED:
            return RunState.STALLED
        if condition is Condition.LOST:
            return RunState.LOST
        if self.run.state not in (RunState.STALLED, RunState.LOST):
            return None
        return RunState.PAUSED if self.run.phase == "paused" else RunState.RUNNING

    def _is_abandoned(self, alive: Liveness) -> bool:
        """A run on a machine that cannot be reached ends when its user stops it, without proof."""
        silent = self.pulse.beat_age() > self.limits.silent
        return alive is Liveness.UNKNOWN and silent and self.requests.stop_age() > self.limits.stop_grace

    # --- the end ---

    def _conclude(self, engine: EngineHandle, alive: Liveness) -> None:
        restarted = engine.identity.boot_id != boot_id()
        swept = sweep_run(
            engine.identity.cookie,
            engine.run_dir,
            seconds=self.limits.sweep,
            begun=True,
            machine_gone=restarted and alive is Liveness.GONE,
        )
        if alive is Liveness.UNKNOWN:
            swept = Sweep(killed=swept.killed, left=[engine.identity.pid])
        self.bridge.drain()
        self._compare_with_heartbeat()
        self.run.refresh_from_db(fields=["requested", "state", "pruned", "preempted"])
        status = engine.exit_status()
        killer = self.memory_killer.report_on(engine.identity, status)
        self._end(self._ending(status, killer), swept, exit_status=status)

    def _ending(self, exit_status: int | None, killer: str = "") -> Ending:
        return ending_of(
            self.attempt.last_event(),
            exit_status,
            begun=self.attempt.has_begun(),
            stop_requested=self.run.requested == Request.STOP,
            interrupted=is_interrupted(self.run) or self._has_yielded(exit_status),
            log=log_tail(self.run.directory / "engine.log"),
            preempted=self.run.preempted,
            pruned=self.run.pruned,
            killer=killer,
        )

    def _has_yielded(self, exit_status: int | None) -> bool:
        """As it was asked to. The exit status is unknown if the keeper was killed."""
        asked = exit_status == INTERRUPTED_EXIT or bool(self.run.preempted)
        return asked and self.attempt.has_begun()

    def _end(self, ending: Ending, swept: Sweep, *, exit_status: int | None) -> None:
        fields: dict[str, Any] = {}
        if ending.retryable and not swept.left and self.run.requested != Request.STOP:
            ending, fields = after_fault(
                self.run, ending, progressed=self.attempt.has_progressed(), pauses=self.limits.restart_pauses
            )
        if ending.state == RunState.QUEUED:
            if not queue_again(self.run, reason=ending.reason, epoch=self.epoch, also=fields):
                self._end_as_requested(swept, exit_status=exit_status)
            return
        last = self.run.last_progress
        released = newest_of(self.run, ClusterReleased, attempt=self.run.attempt)
        proof = proof_of(
            swept,
            how=self.requests.escalation.how,
            exit_status=exit_status,
            time=time.time(),
            gpus=gpus_after(self.run, swept),
            cluster=released.message if released else "",
        )
        fields |= {
            "finished_at": last if last and last >= self.run.queued_at else timezone.now(),
            "stop_proof": proof,
        }
        if ending.cause is not None:
            fields["end_cause"] = ending.cause
        if ending.cause == EndCause.RULE:
            fields["stop_requested_by"] = StopRequester.RULE
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
