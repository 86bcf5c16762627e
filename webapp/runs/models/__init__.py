"""A run, what its engine reported, and what the list of runs needs: one module for each."""

from __future__ import annotations

from webapp.runs.models.ingestion import Ingestion
from webapp.runs.models.listed import DeletedRun, ListedRun, PastUsage, RunTag
from webapp.runs.models.recorded import (
    Alert,
    Checkpoint,
    MetricName,
    RecordProblem,
    RunEvent,
    StepGroups,
    StepMetrics,
    SupersededStep,
)
from webapp.runs.models.run import COLOURS, ID_ALPHABET, Run, new_run_id

__all__ = [
    "COLOURS",
    "ID_ALPHABET",
    "Alert",
    "Checkpoint",
    "DeletedRun",
    "Ingestion",
    "ListedRun",
    "MetricName",
    "PastUsage",
    "RecordProblem",
    "Run",
    "RunEvent",
    "RunTag",
    "StepGroups",
    "StepMetrics",
    "SupersededStep",
    "new_run_id",
]
