"""Sweeps, and the runs that each of them plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from engine.config import RunConfig
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import Point
from webapp.environments.models import EnvironmentVersion
from webapp.projects.models import Project, default_project_id
from webapp.runs.models import Run
from webapp.runs.priorities import NUMBERS

MOST_AT_ONCE = 64
MOST_RETRIES = 10


class SweepState(models.TextChoices):
    RUNNING = "running", "Running"
    STOPPED = "stopped", "Stopped"
    FINISHED = "finished", "Finished"


class Priority(models.IntegerChoices):
    """Of its runs in the queue, where it is the same number as that of single runs."""

    LOW = NUMBERS["low"], "Low"
    NORMAL = NUMBERS["normal"], "Normal"
    HIGH = NUMBERS["high"], "High"


class Sweep(models.Model):
    """Many runs of one base configuration. Only `webapp.sweeps.services` changes one.

    Runs are launched while it is running, as many as `at_once` allows; the others are rows of `PlannedRun`.
    """

    name = models.CharField(max_length=80)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    project = models.ForeignKey(Project, default=default_project_id, on_delete=models.PROTECT, related_name="sweeps")
    description = models.TextField(blank=True, default="")  # the question that it answers
    notes = models.TextField(blank=True, default="")  # Markdown
    curves = models.JSONField(default=list, blank=True)  # names of the metrics that its page draws
    preset = models.CharField(max_length=60, default="custom")  # of the base, a label
    environment_version = models.ForeignKey(EnvironmentVersion, null=True, blank=True, on_delete=models.PROTECT)
    config = models.JSONField()  # the base: a whole `RunConfig`
    plan = models.JSONField()  # a `SweepPlan`
    adapters = models.JSONField(default=dict, blank=True)  # path: name of the copy that its runs start from
    state = models.CharField(max_length=10, choices=SweepState.choices, default=SweepState.RUNNING)
    at_once = models.PositiveSmallIntegerField(default=1)  # runs that are queued or live
    retries = models.PositiveSmallIntegerField(default=1)  # of each run that failed or crashed
    priority = models.SmallIntegerField(choices=Priority.choices, default=Priority.NORMAL)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    stopped_because = models.TextField(blank=True, default="")  # if it was not a user who stopped it
    resumed_at = models.DateTimeField(null=True, blank=True)  # failures before it no longer count

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["state"])]

    def __str__(self) -> str:
        return self.name

    def parsed_plan(self) -> SweepPlan:
        return SweepPlan.model_validate(self.plan)

    def parsed_config(self) -> RunConfig:
        return RunConfig.model_validate(self.config)


class PlannedRun(models.Model):
    """A point of a sweep with a training seed. `run` is None until it is launched, and again once that run is
    deleted."""

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="planned")
    order = models.PositiveIntegerField()  # in which they are launched
    point_key = models.CharField(max_length=16)
    labels = models.JSONField()  # of the point, by name of the axis
    changes = models.JSONField()  # of the base, by dotted field
    seed = models.PositiveIntegerField()
    run = models.OneToOneField(Run, null=True, on_delete=models.SET_NULL, related_name="planned")
    again = models.BooleanField(default=False)  # a user asked to queue it again
    retries = models.PositiveSmallIntegerField(default=0)  # how often it was queued again after a failure
    pruned = models.TextField(blank=True, default="")  # why its configuration was ended early
    compared_at = models.PositiveIntegerField(default=0)  # the newest step at which its run was compared with others
    problem = models.TextField(blank=True, default="")  # why it could not be launched

    class Meta:
        ordering = ["order"]
        constraints = [models.UniqueConstraint(fields=["sweep", "point_key", "seed"], name="one_row_per_planned_run")]

    def __str__(self) -> str:
        return f"{self.point.text}, seed {self.seed}"

    @property
    def point(self) -> Point:
        labels: Mapping[str, str] = self.labels
        changes: Mapping[str, Any] = self.changes
        return Point(labels=labels, changes=changes)
