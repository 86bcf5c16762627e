"""Held-out evaluations: the leaderboard's rows."""

from __future__ import annotations

from django.db import models

from webapp.runs.models import Run


class ProblemList(models.Model):
    """The problems of an evaluation's episodes in order. Evaluations on the same held-out seeds share one."""

    id = models.CharField(primary_key=True, max_length=32)  # a hash of `problems`
    problems = models.BinaryField()  # 8 bytes each, big-endian

    def __str__(self) -> str:
        return f"{len(self.problems) // 8} problems"


class Evaluation(models.Model):
    """One `evaluation_completed` event. Success has a 95% Wilson interval."""

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
    problem_list = models.ForeignKey(ProblemList, null=True, on_delete=models.PROTECT, related_name="evaluations")
    solved = models.BinaryField(default=bytes)  # a bit for each of `problem_list`; empty if that is not known

    class Meta:
        ordering = ["step"]
        constraints = [
            models.UniqueConstraint(fields=["run", "step", "environment", "final"], name="one_row_per_evaluation")
        ]

    def __str__(self) -> str:
        return f"{self.environment} at step {self.step}"
