"""Environments that users define. A definition's versions never change: runs keep the one they used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models

from engine.config import EnvironmentConfig
from webapp.jobs import Job
from webapp.projects.models import Project
from workers.app import PREFLIGHT


class EnvironmentDefinition(models.Model):
    """A named environment; its configuration is in its newest version."""

    name = models.CharField(max_length=60, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    # None for those of a new installation, which everybody reads
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.PROTECT, related_name="environments")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def latest(self) -> EnvironmentVersion:
        return self.versions.latest("number")


class EnvironmentVersion(models.Model):
    """One `engine.config.EnvironmentConfig`, numbered from 1. Edited in place only while no run has used it."""

    project_path = "definition__project"

    definition = models.ForeignKey(EnvironmentDefinition, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(default=1)
    config = models.JSONField()
    facts = models.JSONField(default=dict, blank=True)  # `measuring.Facts`; empty until a worker has measured it
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["definition__name", "-number"]
        constraints = [models.UniqueConstraint(fields=["definition", "number"], name="one_row_per_version")]

    def __str__(self) -> str:
        return f"{self.definition.name} v{self.number}"

    def parsed(self) -> EnvironmentConfig:
        return EnvironmentConfig.model_validate(self.config)

    @property
    def kind(self) -> str:
        kind: Any = self.config["kind"]
        return str(kind)


MODEL = "model"
PLAYERS = {
    "scripted": "Scripted player",
    "mixed:0.4": "Scripted, 40% random actions",
    "random": "Random player",
    MODEL: "Model",
}


class Preflight(Job):
    """Problems of a version, each played several times by a player or, where `model` is given, by a model."""

    project_path = "version__definition__project"
    NOUN = "Pre-flight"
    TASK = PREFLIGHT

    version = models.ForeignKey(EnvironmentVersion, on_delete=models.CASCADE, related_name="preflights")
    config = models.JSONField()  # the version's, which may be edited in place later
    player = models.CharField(max_length=40)
    model = models.CharField(max_length=500, blank=True, default="")
    problems = models.PositiveIntegerField()
    rollouts = models.PositiveIntegerField()
    first_seed = models.PositiveIntegerField(default=0)
    report = models.JSONField(default=dict)  # of `engine.preflight`, as far as it was played

    def __str__(self) -> str:
        return f"pre-flight of {self.version} with {self.who}"

    @property
    def who(self) -> str:
        return f"{PLAYERS[MODEL]} {self.model}" if self.model else PLAYERS.get(self.player, self.player)

    @property
    def folder(self) -> Path:
        return Path(settings.STARBOARD_DATA_DIR) / "preflights" / str(self.pk)
