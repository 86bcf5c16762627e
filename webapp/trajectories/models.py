"""The index of recorded trajectories. Text and tokens stay in the run directory's trajectory files."""

from __future__ import annotations

from django.db import models

from webapp.runs.models import Run
from webapp.trajectories.sort_keys import flag_as_number, number_of_run, number_or_lowest

PLAIN_KEYS = (
    "run", "step", "environment", "seed", "episode_return", "turns", "response_tokens", "parse_failures", "stop",
)  # fmt: skip
NUMBERS_OF_RUN = {  # that the list of a whole run is sorted by, and the names of their indexes
    "episode_return": "trajectories_run_return",
    "advantage": "trajectories_run_advantage",
    "group_std": "trajectories_run_reward_std",
    "turns": "trajectories_run_turns",
    "response_tokens": "trajectories_run_tokens",
    "parse_failures": "trajectories_run_malformed",
}


class CurrentTrajectories(models.Manager["Trajectory"]):
    """Without superseded ones."""

    def get_queryset(self) -> models.QuerySet[Trajectory]:
        return super().get_queryset().filter(superseded=False)


class Trajectory(models.Model):
    """One recorded trajectory: what lists and filters need, and the location of its record.

    `objects`, and so `run.trajectories`, has those that count; `all_attempts` has superseded ones too: of steps that a
    later attempt repeated, since it resumed from an earlier one.
    """

    project_path = "run__project"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="trajectories")
    step = models.PositiveIntegerField()
    split = models.CharField(max_length=10)
    environment = models.CharField(max_length=60)
    kind = models.CharField(max_length=40)
    group = models.PositiveIntegerField()
    member = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    success = models.BooleanField()
    episode_return = models.FloatField()
    score = models.FloatField()
    advantage = models.FloatField(null=True)
    group_std = models.FloatField(null=True)
    kept = models.BooleanField(null=True)
    turns = models.PositiveIntegerField()
    response_tokens = models.PositiveIntegerField()
    parse_failures = models.PositiveIntegerField()
    faults = models.CharField(max_length=160, blank=True, default="")  # kinds in its responses (`faults.py`)
    surplus = models.PositiveIntegerField(default=0, db_default=0)  # actions beyond those that responses may have
    stop = models.CharField(max_length=20)
    reason = models.CharField(max_length=14, default="all")  # why it was kept; `engine.rollout.capture` has them
    removed = models.BooleanField(default=False)  # its file was deleted by the run's retention
    attempt = models.PositiveIntegerField(default=1)
    superseded = models.BooleanField(default=False)
    file = models.CharField(max_length=200)  # relative to the run's directory
    offset = models.BigIntegerField()
    length = models.IntegerField()

    objects = CurrentTrajectories()
    all_attempts = models.Manager["Trajectory"]()

    class Meta:
        verbose_name_plural = "trajectories"
        ordering = ["-step", "split", "group", "member"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "split", "step", "environment", "group", "member"],
                condition=models.Q(superseded=False),
                name="one_row_per_trajectory",
            )
        ]
        # of indexes that seem equal, SQLite takes the last one: those that have rows in the order of ids come late
        indexes = [
            *(
                models.Index("run", number_of_run(field), "id", condition=models.Q(superseded=False), name=name)
                for field, name in NUMBERS_OF_RUN.items()
            ),
            models.Index(fields=["run", "-step"]),
            models.Index(fields=["run", "success", "-step"]),
            models.Index(fields=["run", "kept", "-step"]),
            models.Index(fields=["run", "seed", "step"]),
            # everything that the facets count
            models.Index(
                fields=["run", "environment", "split", "stop", "step"],
                condition=models.Q(superseded=False),
                name="trajectories_facets",
            ),
            # for the list over all runs, in both directions: the sort column, then the id
            *(models.Index(fields=[name, "id"]) for name in PLAIN_KEYS),
            models.Index(flag_as_number("success"), "id", name="trajectories_by_success"),
            models.Index(flag_as_number("kept"), "id", name="trajectories_by_kept"),
            models.Index(number_or_lowest("advantage"), "id", name="trajectories_by_advantage"),
            models.Index(number_or_lowest("group_std"), "id", name="trajectories_by_reward_std"),
            models.Index(fields=["id"], condition=models.Q(faults__gt=""), name="trajectories_with_faults"),
            models.Index(fields=["id"], condition=models.Q(surplus__gt=0), name="trajectories_with_surplus"),
            models.Index(
                fields=["run", "attempt", "step"], condition=models.Q(superseded=True), name="trajectories_superseded"
            ),
            models.Index(fields=["run", "step"], condition=models.Q(removed=True), name="trajectories_removed"),
        ]

    def __str__(self) -> str:
        return f"{self.split} step {self.step}, group {self.group}, member {self.member}"


class TrajectoryText(models.Model):
    """The words that a trajectory is found by, each turn after a `texts.TURN`; the database maintains an index of
    them."""

    trajectory = models.OneToOneField(Trajectory, primary_key=True, on_delete=models.CASCADE, related_name="text")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    thoughts = models.TextField()
    actions = models.TextField()

    def __str__(self) -> str:
        return f"words of trajectory {self.trajectory_id}"


class LostTrajectory(models.Model):
    """A recorded trajectory that cannot be read, or `count` of them of which only the file is known."""

    project_path = "run__project"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="lost_trajectories")
    step = models.PositiveIntegerField()
    split = models.CharField(max_length=10)
    file = models.CharField(max_length=200)
    offset = models.BigIntegerField(default=0)
    count = models.PositiveIntegerField(default=1)
    environment = models.CharField(max_length=60, blank=True, default="")
    group = models.PositiveIntegerField(null=True)
    member = models.PositiveIntegerField(null=True)
    seed = models.BigIntegerField(null=True)
    why = models.TextField()
    remedy = models.TextField()

    class Meta:
        verbose_name_plural = "lost trajectories"
        ordering = ["-step", "split", "environment", "group", "member"]
        indexes = [models.Index(fields=["run", "-step"])]

    def __str__(self) -> str:
        return f"{self.count} of {self.file}"
