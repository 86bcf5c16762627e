"""A run that is trained elsewhere and reports over the API."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from webapp.runs.models.run import Run


class Ingestion(models.Model):
    """How far a run has reported. Its row is locked while lines are appended to the run's events."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE, related_name="ingestion")
    source = models.CharField(max_length=40)  # the trainer, such as verl
    received_seq = models.BigIntegerField(default=0)  # of the sender's newest line
    written_seq = models.BigIntegerField(default=0)  # of the newest event
    written_bytes = models.BigIntegerField(default=0)  # of the file of events; what is beyond them was never confirmed
    step = models.BigIntegerField(default=-1)  # that lines may still add to
    metrics = models.JSONField(default=dict)  # of that step
    tokens = models.BigIntegerField(default=0)
    started_at = models.DateTimeField(default=timezone.now)
    watched_step = models.BigIntegerField(default=-1)  # the newest that alert rules have read
    detectors = models.JSONField(default=dict)  # the state of the rules after it

    def __str__(self) -> str:
        return f"{self.run_id} up to line {self.received_seq}"
