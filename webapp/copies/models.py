"""Copies of finished runs in a bucket. Workers write them; the local files may be freed."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from webapp.runs.models import Run


class CopyState(models.TextChoices):
    STORING = "storing", "Being copied"
    STORED = "stored", "Copied"
    FETCHING = "fetching", "Being fetched"
    FAILED = "failed", "Not copied"


class StoredCopy(models.Model):
    """The copy of one run's directory. It outlives the run until its objects have been deleted."""

    run_key = models.CharField(max_length=10, primary_key=True)
    state = models.CharField(max_length=10, choices=CopyState.choices)
    freed = models.BooleanField(default=False)  # trajectories and checkpoints are in the bucket only
    url = models.CharField(max_length=500)  # of its manifest's folder
    manifest = models.CharField(max_length=64, blank=True, default="")  # SHA-256
    files = models.PositiveIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    message = models.TextField(blank=True, default="")  # why it failed
    holder = models.CharField(max_length=120, blank=True, default="")  # the worker that is at it
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["run_key"]

    def __str__(self) -> str:
        return f"copy of run {self.run_key}"


def copy_of(run: Run) -> StoredCopy | None:
    return StoredCopy.objects.filter(pk=run.pk).first()
