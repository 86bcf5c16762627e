"""Presets that users save for themselves, and imports of rollouts."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models, transaction

from webapp.environments.models import EnvironmentVersion
from webapp.jobs import Job
from webapp.projects.models import Project, default_project_id
from webapp.runs.models import Run
from webapp.runs.models.run import new_run_id
from webapp.updates import publish_import
from workers.app import IMPORT


class SavedPreset(models.Model):
    """A whole configuration of a run under a name; saving another under the same name replaces it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="presets")
    name = models.CharField(max_length=60)
    config = models.JSONField()
    environment_version = models.ForeignKey(EnvironmentVersion, null=True, on_delete=models.SET_NULL)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_preset_per_name")]

    def __str__(self) -> str:
        return self.name


class RolloutImport(Job):
    """Uploaded rollouts that become a run. The run's ID is chosen beforehand, so that an import which continues on
    another worker writes the same run."""

    NOUN = "Import"
    TASK = IMPORT

    project = models.ForeignKey(Project, default=default_project_id, on_delete=models.PROTECT, related_name="imports")
    name = models.CharField(max_length=80)  # of the run
    split = models.CharField(max_length=10, blank=True, default="")  # of rollouts that do not state one
    files = models.JSONField()  # names
    bytes = models.PositiveBigIntegerField()
    lines = models.PositiveIntegerField()  # without empty ones

    read = models.PositiveIntegerField(default=0)  # lines
    accepted = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    written = models.PositiveIntegerField(default=0)  # trajectories in files
    errors = models.JSONField(default=list)  # file, line number and reason of the first rejected lines
    starts = models.PositiveSmallIntegerField(default=0)
    seconds = models.FloatField(default=0.0)  # of work, of its last start

    upload = models.CharField(max_length=32, unique=True)  # its folder
    run_key = models.CharField(max_length=10, default=new_run_id)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta(Job.Meta):
        indexes = [models.Index(fields=["state", "created_at"], name="imports_by_state")]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.origin}"

    @property
    def folder(self) -> Path:
        return imports_folder() / self.upload

    @property
    def log(self) -> Path:
        return self.folder / "output.log"

    @property
    def origin(self) -> str:
        return ", ".join(self.files)[:200]

    @property
    def run_directory(self) -> Path:
        return Path(settings.RUNS_DIR) / self.run_key

    def publish(self) -> None:
        transaction.on_commit(lambda: publish_import(self.pk))


def imports_folder() -> Path:
    return Path(settings.STARBOARD_DATA_DIR) / "imports"
