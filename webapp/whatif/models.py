"""What-ifs: forks of recorded trajectories at a turn. Their text is in the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory


class State(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    FINISHED = "finished", "Finished"
    STOPPED = "stopped", "Stopped"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


LIVE = (State.QUEUED, State.RUNNING)


class WhatIf(models.Model):
    """One fork. The original is identified by `TRAJECTORY_KEY`, since its row may be written again. With a `parent`,
    it forks that what-if, and the key is that of the recorded trajectory at the start of the chain.

    queued ─▶ running ─▶ finished | stopped | refused | failed; a queued one may be stopped.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="what_ifs")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    split = models.CharField(max_length=10)
    step = models.PositiveIntegerField()
    environment = models.CharField(max_length=60)
    group = models.PositiveIntegerField()
    member = models.PositiveIntegerField()
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT, related_name="children")

    turn = models.PositiveIntegerField()  # from 0
    edit = models.CharField(max_length=10)
    text = models.TextField(blank=True, default="")
    checkpoint = models.CharField(max_length=20, blank=True, default="")
    temperature = models.FloatField()
    seed = models.BigIntegerField()

    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    stop_requested = models.BooleanField(default=False)
    message = models.TextField(blank=True, default="")
    remedy = models.TextField(blank=True, default="")
    summary = models.JSONField(default=dict)  # of the engine's last message
    process = models.JSONField(default=dict)  # cookie of the engine, and the worker that holds it
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["state", "created_at"]), models.Index(fields=["run", "step", "group"])]

    def __str__(self) -> str:
        return f"what-if at turn {self.turn + 1} of step {self.step}, group {self.group}, member {self.member}"

    @property
    def folder(self) -> Path:
        return self.run.directory / "what_if" / str(self.pk)

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def trajectory_key(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in TRAJECTORY_KEY}

    def original(self) -> Trajectory | None:
        """The recorded trajectory at the start of the chain."""
        return Trajectory.objects.filter(run=self.run_id, **self.trajectory_key).first()

    def ancestors(self) -> list[WhatIf]:
        """The what-ifs between the trajectory and this one, oldest first."""
        found: list[WhatIf] = []
        while (before := (found[-1] if found else self).parent) is not None:
            found.append(before)
        return found[::-1]


TRAJECTORY_KEY = ("split", "step", "environment", "group", "member")


def what_ifs_of(trajectory: Trajectory) -> models.QuerySet[WhatIf]:
    """Those that fork it directly, newest first."""
    return WhatIf.objects.filter(
        run=trajectory.run_id, parent=None, **{name: getattr(trajectory, name) for name in TRAJECTORY_KEY}
    )
