"""Supervises one run under its lease: starts or adopts its engine, passes requests on, reads its events, and says
how it ended. It may leave at any moment (shutdown, kill -9, lost lease): the engine goes on and another takes over.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from pydantic import ValidationError

from engine.config import problems_by_field
from engine.events import TERMINAL_KINDS
from webapp.alerts.actions import launch_fork
from webapp.runs.models import Run
from webapp.runs.services import move, queue_again
from webapp.runs.states import Request, RunState
from webapp.updates import publish_run
from workers import lease
from workers.bridge import Bridge
from workers.control import write_control, write_json
from workers.endings import INTERRUPTED_EXIT, Ending, ending_of, proof_of
from workers.engine_handle import EngineHandle, Ladder, handle_of_child
from workers.gpus import gpus_after
from workers.heartbeat import Pulse
from workers.lease import Fenced
from workers.limits import Limits, current_limits
from workers.process import Liveness, Sweep, find_leader, identity_from_row, start_engine, sweep
from workers.reaper import Doubt, Evidence, Judgement, Verdict, judge, progress_limit
from workers.restarts import after_fault
from workers.suspension import is_interrupted, lock_of
from workers.tail import log_tail, mend

log = logging.getLogger(__name__)

OBEYED = [
    "epoch", "state", "requested", "checkpoints_asked", "stops_asked", "stop_asked_at",
    "settings_revision", "settings_changes",
]  # fmt: skip
OUTAGE_PAUSE = 1.0
FINISHING = frozenset({"update", "checkpoint"})  # phases that an engine which is to stop brings to their end
STOPPED_BEFORE_START = Ending(state=RunState.STOPPED, reason="Stopped before its engine started.")


class Every:
    """True once per period."""

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
        with lease.kept(run_id, epoch, limits):
            Supervisor(Run.objects.get(pk=run_id), epoch, shutdown, limits).supervise()
    except Fenced:
        log.warning("Run %s was taken over; epoch %d writes nothing more", run_id, epoch)


class Supervisor:
    def __init__(self, run: Run, epoch: int, shutdown: threading.Event, limits: Limits) -> None:
        self.run = run
        self.epoch = epoch
        self.shutdown = shutdown
        self.limits = limits
        self.bridge = Bridge(run, epoch)
        self.pulse = Pulse(run.directory / "heartbeat.json", cookie=run.process.get("cookie", ""))
        self.ladder = Ladder(limits)
        self.doubt = Doubt(limits.judge)
        self.obey_due = Every(limits.obey)
        self.listen_due = Every(min(1.0, limits.judge))
        self.told: tuple[str, int, int] | None = None
        self.last_word_at: float | None = None

    def supervise(self) -> None:
        self.bridge.drain()
        engine = self._engine()
        if engine is None:
            return
        while not self.shutdown.is_set():
            try:
                if self._round(engine):
                    return
            except (OperationalError, InterfaceError, OSError) as error:
                self._sit_out(error)
            self._wait_for_events()
        lease.release(self.run.pk, self.epoch)

    def _wait_for_events(self) -> None:
        """A poll at most. A glance at the file's size costs microseconds; a round of all the rest does not."""
        until = time.monotonic() + self.limits.poll
        while time.monotonic() < until and not self.shutdown.wait(min(self.limits.glance, self.limits.poll)):
            if self.bridge.has_news():
                return

    def _round(self, engine: EngineHandle) -> bool:
        """One look at everything; True when the run has ended."""
        if self.obey_due.due():
            self._obey(engine)
        alive = engine.liveness()  # before reading, so that the last thing a dying engine wrote is read
        if self.bridge.drain():
            self.pulse.note_progress()
        if self.listen_due.due():
            self._listen()
        if alive is Liveness.GONE or self._given_up(alive):
            self._conclude(engine, alive)
            return True
        if self.doubt.is_due():
            self._act_on(judge(self._evidence(alive), self.limits))
        return False

    # --- the engine ---

    def _engine(self) -> EngineHandle | None:
        """The engine to watch: the one in the row, the one with the row's cookie, or a new one. None if none can be."""
        cookie = self.run.process["cookie"]
        identity = identity_from_row(self.run.process)
        if identity is None and (identity := find_leader(cookie)) is not None:
            self._write(process=identity.as_row())
        if identity is not None:
            return EngineHandle(identity=identity, lock=lock_of(self.run))
        if self.run.state in (RunState.STARTING, RunState.STALLED) and self._last_word() is None:
            return self._start(cookie)
        never_there = self.run.state == RunState.STOPPING and not self._has_begun()
        ending = STOPPED_BEFORE_START if never_there else self._ending(None)
        self._end(ending, sweep(cookie, seconds=self.limits.sweep), exit_status=None)
        return None

    def _start(self, cookie: str) -> EngineHandle | None:
        try:
            self._prepare_directory()
            self._obey(None)
            child = start_engine(
                self.run.directory,
                cookie=cookie,
                attempt=self.run.attempt,
                epoch=self.epoch,
                resume=self.run.attempt > 1 or self.run.last_seq > 0,
            )
        except ValidationError as error:
            self._refuse("The configuration cannot be used:\n" + _problems(error), "Clone the run and mend the fields.")
            return None
        except OSError as error:
            self._refuse(
                f"The run directory {self.run.directory} cannot be used: {error.strerror or error}.",
                "Make it writable for the worker and see that the disk has room, then resume.",
            )
            return None
        handle = handle_of_child(child, cookie, lock_of(self.run))
        self._write(process=handle.identity.as_row())
        return handle

    def _prepare_directory(self) -> None:
        config = self.run.parsed_config()
        self.run.directory.mkdir(parents=True, exist_ok=True)
        lock_of(self.run).touch()
        mend(self.run.directory / "events.jsonl")
        write_json(self.run.directory / "config.json", config.model_dump(mode="json"))

    def _refuse(self, reason: str, remedy: str) -> None:
        move(self.run, RunState.FAILED, reason=reason, remedy=remedy, epoch=self.epoch, attempt=self.run.attempt)

    # --- what the user asks ---

    def _obey(self, engine: EngineHandle | None) -> None:
        """Reads the row's requests; tells the engine what is new, and presses on with a stop."""
        self.run.refresh_from_db(fields=OBEYED)
        if self.run.epoch != self.epoch:
            raise Fenced(self.run.pk)
        wanted = (self.run.requested, self.run.checkpoints_asked, self.run.settings_revision)
        if wanted != self.told:
            settings = {"revision": wanted[2], "changes": self.run.settings_changes}
            try:
                write_control(
                    self.run.directory, request=wanted[0], checkpoint=wanted[1], epoch=self.epoch, settings=settings
                )
                self.told = wanted
            except OSError as error:
                if engine is None:
                    raise
                log.warning("Run %s: control.json cannot be written, trying again: %s", self.run.pk, error)
        if engine is not None:
            self.ladder.climb(engine, presses=self.run.stops_asked, overdue=self._overdue())

    def _overdue(self) -> bool:
        if self.last_word_at is None and self._last_word() is not None:
            self.last_word_at = time.monotonic()
        said_goodbye = self.last_word_at is not None and time.monotonic() - self.last_word_at > self.limits.exit_grace
        return said_goodbye or self._stop_age() > self._stop_grace()

    def _stop_grace(self) -> float:
        """Longer for an engine that is heard to finish: ended in the middle of a save it loses what it has done."""
        finishing = self.pulse.phase() in FINISHING and self.pulse.beat_age() <= self.limits.silent
        return self.limits.finish_grace if finishing else self.limits.stop_grace

    def _stop_age(self) -> float:
        asked = self.run.stop_asked_at
        return (timezone.now() - asked).total_seconds() if asked and self.run.requested == Request.STOP else 0.0

    # --- how it does ---

    def _listen(self) -> None:
        if self.pulse.look():
            self._write(last_heard=timezone.now())

    def _evidence(self, alive: Liveness) -> Evidence:
        return Evidence(
            liveness=alive,
            beat_age=self.pulse.beat_age(),
            progress_age=self.pulse.progress_age(),
            state=self.run.state,
            progress_limit=progress_limit(self.run, self.limits),
        )

    def _act_on(self, judgement: Judgement) -> None:
        target = self._state_for(judgement.verdict)
        if target is not None and target != self.run.state and self.run.state != RunState.STOPPING:
            move(self.run, target, reason=judgement.reason, remedy=judgement.remedy, epoch=self.epoch)

    def _state_for(self, verdict: Verdict) -> RunState | None:
        if verdict is Verdict.STALLED:
            return RunState.STALLED
        if verdict is Verdict.LOST:
            return RunState.LOST
        if self.run.state not in (RunState.STALLED, RunState.LOST):
            return None
        return RunState.PAUSED if self.run.phase == "paused" else RunState.RUNNING

    def _given_up(self, alive: Liveness) -> bool:
        """A run of a machine that cannot be seen ends when its user stops it; nothing can be proven then."""
        silent = self.pulse.beat_age() > self.limits.silent
        return alive is Liveness.UNKNOWN and silent and self._stop_age() > self.limits.stop_grace

    # --- the end ---

    def _conclude(self, engine: EngineHandle, alive: Liveness) -> None:
        swept = sweep(engine.identity.cookie, seconds=self.limits.sweep)
        if alive is Liveness.UNKNOWN:
            swept = Sweep(killed=swept.killed, left=[engine.identity.pid])
        self.bridge.drain()
        self.run.refresh_from_db(fields=["requested", "state"])
        self._end(self._ending(engine.exit_status()), swept, exit_status=engine.exit_status())

    def _ending(self, exit_status: int | None) -> Ending:
        last_word = self._last_word()
        return ending_of(
            last_word,
            exit_status,
            begun=self._has_begun(),
            stop_asked=self.run.requested == Request.STOP,
            interrupted=is_interrupted(self.run) or (exit_status == INTERRUPTED_EXIT and self._has_begun()),
            log=log_tail(self.run.directory / "engine.log"),
        )

    def _last_word(self) -> dict[str, Any] | None:
        """This attempt's `run_finished` or `run_failed`."""
        return self._said(*TERMINAL_KINDS)

    def _has_begun(self) -> bool:
        """Did this attempt say that it started? One that did not would only be interrupted again, for ever."""
        return self._said("run_started") is not None

    def _has_progressed(self) -> bool:
        """Did this attempt complete a step or save a checkpoint?"""
        stepped = self.run.steps.filter(attempt=self.run.attempt).exists()
        return stepped or self._said("checkpoint_saved") is not None

    def _said(self, *kinds: str) -> dict[str, Any] | None:
        """The newest event of these kinds, if this attempt's engine wrote it."""
        event = self.run.events.filter(kind__in=kinds).order_by("-seq").first()
        return event.payload if event is not None and event.payload["attempt"] == self.run.attempt else None

    def _end(self, ending: Ending, swept: Sweep, *, exit_status: int | None) -> None:
        fields: dict[str, Any] = {}
        if ending.retryable and not swept.left and self.run.requested != Request.STOP:
            ending, fields = after_fault(
                self.run, ending, progressed=self._has_progressed(), pauses=self.limits.restart_pauses
            )
        if ending.state == RunState.QUEUED:
            if not queue_again(self.run, reason=ending.reason, epoch=self.epoch, also=fields):
                self._end_as_asked(swept, exit_status=exit_status)
            return
        heard = self.run.last_progress
        proof = proof_of(
            swept,
            how=self.ladder.how,
            exit_status=exit_status,
            time=time.time(),
            gpus=gpus_after(self.run, swept),
            cluster=(self._said("machines_freed") or {}).get("account", ""),
        )
        fields |= {
            "finished_at": heard if heard and heard >= self.run.queued_at else timezone.now(),
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
        log.info("Run %s ended: %s", self.run.pk, ending.state)

    def _forked(self, ending: Ending) -> str:
        """Before the run has ended: a worker that leaves in between is followed by one that finds the fork."""
        if ending.fork_before is None:
            return ""
        if not Run.objects.filter(pk=self.run.pk, epoch=self.epoch).exists():
            raise Fenced(self.run.pk)
        return launch_fork(self.run, before=ending.fork_before)

    def _end_as_asked(self, swept: Sweep, *, exit_status: int | None) -> None:
        """The run was to be queued again, but a stop came in between; else it is no longer ours."""
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

    def _sit_out(self, error: Exception) -> None:
        """The database or the disk cannot be used: wait, look again at everything, and judge nobody for it."""
        log.warning("Run %s: the database or the run directory cannot be used now: %s", self.run.pk, error)
        self.shutdown.wait(OUTAGE_PAUSE)
        connection.close()
        self.doubt.begin()
        try:
            self.run.refresh_from_db()
        except (OperationalError, InterfaceError):
            return
        if self.run.epoch != self.epoch:
            raise Fenced(self.run.pk)
        self.bridge = Bridge(self.run, self.epoch)


def _problems(error: ValidationError) -> str:
    return "\n".join(f"{field or 'config'}: {reason}" for field, reason in problems_by_field(error))
