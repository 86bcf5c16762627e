"""A run whose rows a bridge writes, and the contents of those rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.forms.models import model_to_dict

from webapp.evaluations.models import Evaluation
from webapp.runs.models import Alert, Checkpoint, Run, RunEvent, StepGroups, StepMetrics, SupersededStep
from webapp.trajectories.models import Trajectory


@pytest.fixture
def run(tmp_path: Path, settings: Any) -> Run:
    settings.RUNS_DIR = str(tmp_path)
    return Run.objects.create(name="calm-otter-12", config={}, state="starting", epoch=1)


def rows_of(run: Run) -> dict[str, Any]:
    """All stored values of a run except database keys."""
    tables = (RunEvent, StepMetrics, SupersededStep, StepGroups, Trajectory, Evaluation, Checkpoint, Alert)
    rows: dict[str, Any] = {
        table.__name__: sorted((_without_key(row) for row in table._base_manager.filter(run=run)), key=repr)
        for table in tables
    }
    run.refresh_from_db()
    return {**rows, "run": model_to_dict(run, exclude=["epoch", "lease_holder", "lease_expires"])}


def _without_key(row: Any) -> dict[str, Any]:
    return {name: value for name, value in model_to_dict(row).items() if name != "id"}
