"""Jobs: rows whose work a worker does in an engine process that it holds until the end. What-ifs, pre-flights and
requested evaluations are kinds of them. `workers/held_jobs.py` plays them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.dispatch import Signal, receiver
from django.utils import timezone

from engine.reservations import release, reserve
from webapp.broker import send_task


class JobState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    FINISHED = "finished", "Finished"
    STOPPED = "stopped", "Stopped"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


LIVE = (JobState.QUEUED, JobState.RUNNING)


job_ended = Signal()  # with `job`, whose row has been written; in the transaction that ended it, if there is one


@receiver(job_ended)
def _release_checkpoint(job: Job, **_: object) -> None:
    transaction.on_commit(job.release_checkpoint)


@dataclass(frozen=True, slots=True)
class Lane:
    """Jobs of a kind that wait for each other: `at_once` of those with `where` run at a time."""

    where: models.Q
    at_once: int


class Refused(Exception):
    """Why a job is not accepted, for the user."""


class Job(models.Model):
    """queued ─▶ running ─▶ finished | stopped | refused | failed; a queued one may be stopped."""

    NOUN: ClassVar[str]  # for logs
    TASK: ClassVar[str]  # of `workers.app`; it plays one by its key

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    stop_requested = models.BooleanField(default=False)
    message = models.TextField(blank=True, default="")
    process = models.JSONField(default=dict)  # cookie of the engine, and the worker that holds it
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ["-pk"]

    @property
    def folder(self) -> Path:
        """Where its engine reads and writes."""
        raise NotImplementedError

    @property
    def log(self) -> Path:
        """The output of its engine."""
        return self.folder / "engine.log"

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    def needed_checkpoint(self) -> tuple[Path, int] | None:
        """The folder of a run's checkpoints, and the step of the one that it cannot do without."""
        return None

    def reserve_checkpoint(self) -> bool:
        """Until its end the engine of the run does not remove what it needs; False if that is gone already."""
        needed = self.needed_checkpoint()
        return needed is None or reserve(*needed, self.marker)

    def release_checkpoint(self) -> None:
        if (needed := self.needed_checkpoint()) is not None:
            release(*needed, self.marker)

    @property
    def marker(self) -> str:
        """Its name beside a checkpoint that it needs."""
        return f"{self._meta.label}.{self.pk}"

    @classmethod
    def lanes(cls) -> list[Lane]:
        """One at a time, unless a kind says otherwise. Each job belongs to one lane."""
        return [Lane(models.Q(), 1)]

    @classmethod
    def any_live_of(cls, owner: User | None) -> bool:
        """Whether the user has one in progress. In the transaction that creates one: two concurrent forms of a user
        would create two."""
        if owner is not None:
            User.objects.select_for_update().get(pk=owner.pk)
        return cls._default_manager.filter(owner=owner, state__in=LIVE).exists()

    def enqueue(self) -> None:
        """Sends it to a worker. Without a broker it stays queued until a worker looks for waiting ones."""
        send_task(self.TASK, self.pk, otherwise=f"{self.NOUN} {self.pk} is queued as a row only")

    def stop(self) -> bool:
        """Ends a queued one at once; a running one is ended by its worker. False if it is over."""
        row = type(self)._default_manager.filter(pk=self.pk)
        ended = {"state": JobState.STOPPED, "ended_at": timezone.now(), "message": "Stopped before it started."}
        stopped = row.filter(state=JobState.QUEUED).update(**ended)
        if stopped:
            job_ended.send(sender=type(self), job=self)
        stopped = stopped or row.filter(state=JobState.RUNNING).update(stop_requested=True)
        if stopped:
            self.publish()
        return bool(stopped)

    def publish(self) -> None:
        """Notifies open pages that it changed, of a kind whose pages have a socket."""
