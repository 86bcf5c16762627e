"""Held-out evaluations: the leaderboard's rows, and users' requests for those of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.runs.models import Run


class ProblemList(models.Model):
    """The problems of an evaluation's episodes in order. Evaluations on the same held-out seeds share one."""

    id = models.CharField(primary_key=True, max_length=32)  # a hash of `problems`
    problems = models.BinaryField()  # 8 bytes each, big-endian

    def __str__(self) -> str:
        return f"{len(self.problems) // 8} problems"


class Evaluation(models.Model):
    """One `evaluation_completed` event, or `checkpoint_evaluated` if it was requested. Success has a 95% Wilson
    interval."""

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


class RequestState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    FINISHED = "finished", "Finished"
    STOPPED = "stopped", "Stopped"
    FAILED = "failed", "Failed"


LIVE = (RequestState.QUEUED, RequestState.RUNNING)


class EvaluationRequest(models.Model):
    """A request to evaluate the checkpoint of a step, which a worker plays. The engine adds the results to the events
    of the run, from which their rows of `Evaluation` are made.

    queued ─▶ running ─▶ finished | stopped | failed; a queued one may be stopped.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="evaluation_requests")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    step = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=RequestState.choices, default=RequestState.QUEUED)
    stop_requested = models.BooleanField(default=False)
    message = models.TextField(blank=True, default="")
    process = models.JSONField(default=dict)  # cookie of the engine, and the worker that holds it
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["state", "created_at"])]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "step"], condition=models.Q(state__in=["queued", "running"]), name="one_live_request"
            )
        ]

    def __str__(self) -> str:
        return f"evaluation of step {self.step}"

    @property
    def log(self) -> Path:
        """Output of the engine process."""
        return self.run.directory / f"evaluation_{self.pk}.log"
