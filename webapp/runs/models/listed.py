"""What the list of runs needs besides the runs: their tags, what it searches and groups by, and deleted runs
with what they used."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.projects.models import Project, default_project_id

if TYPE_CHECKING:
    from webapp.runs.models.run import Run

LABELS = ("preset", "description", "seed")  # of a configuration that seeds share


class RunTag(models.Model):
    project_path = "run__project"

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="one_row_per_tag")]
        indexes = [models.Index(fields=["name"])]

    def __str__(self) -> str:
        return self.name


class ListedRun(models.Model):
    """What the list of runs searches, groups and sorts by and a run has no column for. Rows of runs are kilobytes
    wide, so that reading ten thousand of them for one page would take seconds."""

    FROM_RUN = ("text", "environment", "model", "seed", "config_key")

    run = models.OneToOneField("runs.Run", primary_key=True, on_delete=models.CASCADE, related_name="listed")
    text = models.TextField()  # case-folded: all that a search finds
    environment = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    seed = models.BigIntegerField(null=True)
    config_key = models.CharField(max_length=16, db_index=True)  # the same for runs that differ only in `LABELS`

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, run: Run, tags: list[str]) -> ListedRun:
        """The row of `run`, not yet saved."""
        environment = str(
            run.environment_version or ", ".join(one["tag"] for one in run.config.get("environments", []))
        )
        model = str(run.config.get("model", {}).get("path", ""))
        words = (run.name, run.project.name, run.notes, *tags, environment, run.preset, model)
        return cls(
            run_id=run.pk,
            text="\n".join(words).casefold(),
            environment=environment[:200],
            model=model[:200],
            seed=run.config.get("seed"),
            config_key=_config_key(run),
        )


def _config_key(run: Run) -> str:
    """A hash of the configuration with what was changed while the run was live. An imported run has only its own."""
    shared = {name: value for name, value in run.config.items() if name not in LABELS}
    parts = [run.pk] if run.imported_from else [shared, run.settings_changes]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()


class DeletedRun(models.Model):
    """A run that a user deleted, for whoever follows a link to it."""

    id = models.CharField(primary_key=True, max_length=10)
    name = models.CharField(max_length=80)
    project = models.ForeignKey(Project, default=default_project_id, on_delete=models.CASCADE, related_name="+")
    who = models.CharField(max_length=150)
    freed = models.BigIntegerField()  # bytes
    time = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class PastUsage(models.Model):
    """When a run that was deleted held its devices, which counts towards the quota of its owner."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    run_id = models.CharField(max_length=10, unique=True)
    devices = models.PositiveIntegerField()
    held = models.JSONField()  # pairs of times, from when to when
    ended_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"devices of the deleted run {self.run_id}"
