"""What-ifs: forks of recorded trajectories at a turn. Their text is in the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import models, transaction

from webapp.jobs import Job
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory
from webapp.updates import publish_what_if
from webapp.whole_numbers import whole_number
from workers.app import WHAT_IF


class WhatIf(Job):
    """One fork. The original is identified by `TRAJECTORY_KEY`, since its row may be written again. With a `parent`,
    it forks that what-if, and the key is that of the recorded trajectory at the start of the chain."""

    NOUN = "What-if"
    TASK = WHAT_IF

    project_path = "run__project"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="what_ifs")
    split = models.CharField(max_length=10)
    step = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField(default=1)  # a later one may have repeated the step
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

    remedy = models.TextField(blank=True, default="")
    summary = models.JSONField(default=dict)  # of the engine's last message

    class Meta(Job.Meta):
        indexes = [models.Index(fields=["state", "created_at"]), models.Index(fields=["run", "step", "group"])]

    def __str__(self) -> str:
        return f"what-if at turn {self.turn + 1} of step {self.step}, group {self.group}, member {self.member}"

    @property
    def folder(self) -> Path:
        return self.run.directory / "what_if" / str(self.pk)

    def needed_checkpoint(self) -> tuple[Path, int] | None:
        step = whole_number(self.checkpoint.removeprefix("step_"))
        return None if step is None else (self.run.directory / "checkpoints", step)

    @property
    def trajectory_key(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in TRAJECTORY_KEY}

    def publish(self) -> None:
        transaction.on_commit(lambda: publish_what_if(self.pk))

    def original(self) -> Trajectory | None:
        """The recorded trajectory at the start of the chain."""
        return Trajectory.all_attempts.filter(run=self.run_id, **self.trajectory_key).first()

    def ancestors(self) -> list[WhatIf]:
        """The what-ifs between the trajectory and this one, oldest first."""
        found: list[WhatIf] = []
        while (before := (found[-1] if found else self).parent) is not None:
            found.append(before)
        return found[::-1]


TRAJECTORY_KEY = ("split", "step", "attempt", "environment", "group", "member")


def what_ifs_of(trajectory: Trajectory) -> models.QuerySet[WhatIf]:
    """Those that fork it directly, newest first."""
    return WhatIf.objects.filter(
        run=trajectory.run_id, parent=None, **{name: getattr(trajectory, name) for name in TRAJECTORY_KEY}
    )
