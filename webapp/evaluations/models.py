"""Held-out evaluations: the leaderboard's rows, and users' requests for those of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from django.db import models, transaction

from webapp.jobs import LIVE, Job
from webapp.runs.models import Run
from webapp.updates import publish_run
from workers.app import EVALUATE


class ProblemList(models.Model):
    """The problems of an evaluation's episodes in order. Evaluations on the same held-out seeds share one."""

    id = models.CharField(primary_key=True, max_length=32)  # a hash of `problems`
    problems = models.BinaryField()  # 8 bytes each, big-endian

    def __str__(self) -> str:
        return f"{len(self.problems) // 8} problems"


class Evaluation(models.Model):
    """One `evaluation_completed` event, or `checkpoint_evaluated` if it was requested. Success has a 95% Wilson
    interval."""

    project_path = "run__project"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="evaluations")
    step = models.PositiveIntegerField()
    time = models.FloatField()
    environment = models.CharField(max_length=60)  # the tag in the run's config
    episodes = models.PositiveIntegerField()
    successes = models.PositiveIntegerField()
    success = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    mean_return = models.FloatField()
    faults = models.PositiveIntegerField(default=0)  # episodes that their environment broke off; none of `episodes`
    problems = models.PositiveIntegerField(default=0)  # distinct ones among the episodes; 0 if it is not known
    trained_on = models.PositiveIntegerField(default=0)  # episodes whose problem the run had trained on
    first_seed = models.BigIntegerField()
    temperature = models.FloatField()
    final = models.BooleanField(default=False)
    requested = models.BooleanField(default=False)
    problem_list = models.ForeignKey(ProblemList, null=True, on_delete=models.PROTECT, related_name="evaluations")
    solved = models.BinaryField(default=bytes)  # a bit for each of `problem_list`; empty if that is not known

    class Meta:
        ordering = ["step"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "step", "environment", "final", "requested"], name="one_row_per_evaluation"
            )
        ]

    def __str__(self) -> str:
        return f"{self.environment} at step {self.step}"


class EvaluationRequest(Job):
    """A request to evaluate the checkpoint of a step, which a worker plays. The engine adds the results to the events
    of the run, from which their rows of `Evaluation` are made."""

    NOUN = "Evaluation"
    TASK = EVALUATE

    project_path = "run__project"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="evaluation_requests")
    step = models.PositiveIntegerField()

    class Meta(Job.Meta):
        indexes = [models.Index(fields=["state", "created_at"])]
        constraints = [
            models.UniqueConstraint(fields=["run", "step"], condition=models.Q(state__in=LIVE), name="one_live_request")
        ]

    def __str__(self) -> str:
        return f"evaluation of step {self.step}"

    @property
    def folder(self) -> Path:
        return self.run.directory

    @property
    def log(self) -> Path:
        return self.folder / f"evaluation_{self.pk}.log"

    def needed_checkpoint(self) -> tuple[Path, int]:
        return self.run.directory / "checkpoints", self.step

    def publish(self) -> None:
        """Notifies open pages of the run."""
        transaction.on_commit(lambda: publish_run(self.run_id, self.run.last_seq))
