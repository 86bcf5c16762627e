"""The life of a job (`webapp.jobs`) on the worker that holds it: taken when its lane has room, played by an engine
process, ended with an outcome.

No other worker adopts a job: when its worker is gone, its process is ended and it has failed, or is queued again if its
kind says so. What differs between kinds is in their own modules, which `workers/job_kinds.py` lists.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Self, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from webapp.jobs import Job, JobState, job_ended
from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from workers import lease
from workers.engine_process import engine_program, start
from workers.process import sweep
from workers.sightings import jobs
from workers.tail import log_tail, why_it_ended

log = logging.getLogger(__name__)

POLL_SECONDS = 0.3
SWEEP_SECONDS = 30.0
OUTAGE_PAUSE = 1.0
OUTAGES = (OperationalError, InterfaceError)  # of the database: they pass

AnyJob = TypeVar("AnyJob", bound=Job)
Result = TypeVar("Result")
Outcome = dict[str, Any]  # fields of the row


class CannotStart(Exception):
    """Why a job fails before it has an engine, and what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message, self.remedy = message, remedy


class HeldJob(ABC, Generic[AnyJob]):
    """A job that this worker holds. A subclass is a kind: how one is started, watched and judged."""

    model: type[AnyJob]
    played: ClassVar[str] = "played"  # what a worker has done with one
    again: ClassVar[str]  # what to do if the worker went away
    look_seconds: ClassVar[float] = POLL_SECONDS
    grace_seconds: ClassVar[float] = 0.0  # of an engine that is ended early, after SIGTERM, to store what it has done

    def __init__(self, job: AnyJob) -> None:
        self.job = job
        self.shutdown = threading.Event()  # of this worker

    @abstractmethod
    def seconds(self) -> float:
        """After which it is ended."""

    @abstractmethod
    def timed_out(self) -> Outcome:
        """`failed`, with a reason for the user."""

    @abstractmethod
    def prepare(self) -> list[str]:
        """Writes what the engine reads, and returns the arguments of its command; `CannotStart` if it cannot."""

    def variables(self) -> dict[str, str]:
        """In addition to the engine's environment."""
        return {}

    def look(self) -> None:
        """Reads what the engine has written so far: every `look_seconds`, and once after its end."""

    def outcome(self, exit_status: int) -> Outcome:
        """Of an engine that ended by itself."""
        if exit_status == 0:
            return {"state": JobState.FINISHED}
        return self.failed(why_it_ended(log_tail(self.job.log), exit_status))

    def failed(self, message: str, remedy: str = "") -> Outcome:
        return {"state": JobState.FAILED, "message": storable(f"{message} {remedy}" if remedy else message)}

    def lost(self, message: str) -> Outcome:
        """Of one whose worker is gone."""
        return self.failed(message, self.again)

    def raised(self, error: Exception) -> Outcome:
        """Of one that this worker could not play."""
        return self.failed(f"{type(error).__name__}: {error}")

    @classmethod
    def play(cls, pk: int, shutdown: threading.Event) -> bool:
        """Plays it to its end; False if its lane has no room."""
        held = cls._take(pk)
        if held is None:
            return False
        held.shutdown = shutdown
        try:
            outcome = held._play(shutdown)
        except CannotStart as refusal:
            outcome = held.failed(refusal.message, refusal.remedy)
        except OUTAGES:  # at shutdown
            raise
        except Exception as error:
            log.exception("%s %d failed", cls.model.NOUN, pk)
            outcome = held.raised(error)
        held._through_outages(lambda: held._end(outcome), shutdown)
        return True

    @classmethod
    def dispatch_next(cls) -> None:
        """Sends the oldest queued ones to workers, as many as their lanes have room for."""
        rows = cls.model._default_manager
        for lane in cls.model.lanes():
            of_lane = rows.filter(lane.where)
            room = lane.at_once - of_lane.filter(state=JobState.RUNNING).count()
            for waiting in of_lane.filter(state=JobState.QUEUED).order_by("pk")[: max(0, room)]:
                waiting.enqueue()

    @classmethod
    def fail_abandoned(cls) -> None:
        """Ends those whose worker no longer exists: with proof, or because it would have ended them by now."""
        for job in cls.model._default_manager.filter(state=JobState.RUNNING):
            held = cls(job)
            if held._is_overdue() or lease.holder_is_dead(job.process.get("holder", "")):
                sweep(job.process["cookie"], seconds=SWEEP_SECONDS)
                held._end(held.lost(f"The worker that {cls.played} it no longer exists."))

    @classmethod
    def end_restored(cls, reason: str) -> int:
        """Ends those that were running when a backup was made; returns their number. Processes with their cookies are
        of the installation that it was made of, and are left alone."""
        running = list(cls.model._default_manager.filter(state=JobState.RUNNING))
        for job in running:
            held = cls(job)
            held._end(held.lost(reason))
        return len(running)

    @classmethod
    def _take(cls, pk: int) -> Self | None:
        rows = cls.model._default_manager
        with transaction.atomic():
            # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and taking one act
            running = list(rows.select_for_update().filter(state=JobState.RUNNING).values_list("pk", flat=True))
            lane = next((one for one in cls.model.lanes() if rows.filter(one.where, pk=pk).exists()), None)
            if lane is None or rows.filter(lane.where, pk__in=running).count() >= lane.at_once:
                return None
            process = {"cookie": f"{cls.model.NOUN.lower()}-{uuid.uuid4()}", "holder": lease.this_holder()}
            queued = rows.filter(pk=pk, state=JobState.QUEUED)
            if not queued.update(state=JobState.RUNNING, started_at=timezone.now(), process=process):
                return None
        job = rows.get(pk=pk)
        job.publish()
        return cls(job)

    def _play(self, shutdown: threading.Event) -> Outcome:
        cookie = self.job.process["cookie"]
        command = [*engine_program(), *self._through_outages(self.prepare, shutdown)]
        self.job.log.unlink(missing_ok=True)  # a database that was reset counts from 1 again
        child = start(command, self.job.log, cookie=cookie, variables=self.variables())
        try:
            interruption = self._watch(child, shutdown)
            if interruption and self.grace_seconds:
                child.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(self.grace_seconds)
        finally:
            if left := sweep(cookie, seconds=SWEEP_SECONDS).left:
                log.warning("%s %d: processes %s did not end", self.model.NOUN, self.job.pk, left)
            status = child.wait()
        self._through_outages(self.look, shutdown)
        return interruption or self._through_outages(lambda: self.outcome(status), shutdown)

    def _watch(self, child: subprocess.Popen[bytes], shutdown: threading.Event) -> Outcome | None:
        """Until the engine ends; the outcome, if something else ends it."""
        until = time.monotonic() + self.seconds()
        interruption: Outcome | None = None
        while child.poll() is None and interruption is None:
            next_poll = time.monotonic() + POLL_SECONDS
            while time.monotonic() < next_poll and not shutdown.wait(self.look_seconds):
                self._through_outages(self.look, shutdown)
            interruption = self._through_outages(
                lambda: self._interruption(late=time.monotonic() > until, shutdown=shutdown.is_set()), shutdown
            )
        return interruption

    def _through_outages(self, act: Callable[[], Result], shutdown: threading.Event) -> Result:
        """Repeats it until the database answers. A worker that shuts down does not wait: once it is gone, the job is
        ended by another."""
        while True:
            try:
                return act()
            except OUTAGES as error:
                log.warning("%s %d waits for the database: %s", self.model.NOUN, self.job.pk, error)
                connection.close()
                if shutdown.wait(OUTAGE_PAUSE):
                    raise

    def _interruption(self, *, late: bool, shutdown: bool) -> Outcome | None:
        self.job.refresh_from_db(fields=["stop_requested"])
        if self.job.stop_requested:
            return {"state": JobState.STOPPED, "message": "Stopped on request."}
        if late:
            return self.timed_out()
        return self.lost("The worker was shut down.") if shutdown else None

    def _is_overdue(self) -> bool:
        longest = self.seconds() + 2 * SWEEP_SECONDS
        return jobs.see(f"{self.model.NOUN} {self.job.pk}", self.job.process["cookie"], longest)

    def _end(self, outcome: Outcome) -> None:
        held = {"state": JobState.RUNNING, "process": self.job.process}  # no other worker has it by now
        running = self.model._default_manager.filter(pk=self.job.pk, **held)
        with transaction.atomic():
            if outcome["state"] == JobState.QUEUED:  # another worker continues
                running.update(process={}, **outcome)
            elif running.update(ended_at=timezone.now(), **outcome):
                job_ended.send(sender=self.model, job=self.job)
        self.job.publish()


def a_run_needs_the_gpu() -> bool:
    """A run that trains needs its GPU for itself."""
    return Run.objects.filter(state__in=SUPERVISED).exists()


def storable(text: str) -> str:
    """An engine's text may hold characters that databases refuse."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
