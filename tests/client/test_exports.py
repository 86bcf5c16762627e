"""A run's exports, opened by the libraries that they are for, in their own environment."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from starboard_client.cli import main
from tests.builders.recorded_run import RecordedRun
from tests.client.own_environments import python_of, run_in

OPEN = Path(__file__).parent / "programs" / "open_exports.py"


@pytest.fixture
def ended(shell: Path) -> RecordedRun:
    recorded = RecordedRun(steps=12)
    recorded.take_steps(12)
    recorded.finish()
    return recorded


def exported(run_id: str, format: str, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    assert main(["runs", "export", run_id, "--format", format, "-o", str(file)]) == 0
    return file


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_other_trackers_open_the_files(ended: RecordedRun, shell: Path) -> None:
    python = python_of("trackers", "make setup-trackers")
    run_id = ended.run.pk
    exported(run_id, "tensorboard", shell / "files" / "tensorboard" / "events.out.tfevents.1.x")
    exported(run_id, "parquet", shell / "files" / "metrics.parquet")
    exported(run_id, "trajectories", shell / "files" / "trajectories.parquet")
    for format in ("mlflow", "wandb"):
        with zipfile.ZipFile(exported(run_id, format, shell / f"{format}.zip")) as archive:
            archive.extractall(shell / "files" / format)
    found = json.loads(run_in(python, OPEN, shell / "files"))
    values = [[row.step, row.metrics["rollout/success"]] for row in ended.run.steps.order_by("step")]
    assert found["mlflow"]["values"] == values
    assert found["wandb"]["values"] == values
    assert found["parquet"]["values"] == values
    assert [step for step, _ in found["tensorboard"]] == list(range(1, 13))
    assert [value for _, value in found["tensorboard"]] == pytest.approx([value for _, value in values], rel=1e-6)
    assert (found["mlflow"]["name"], found["mlflow"]["status"]) == ("calm-otter-12", "FINISHED")
    assert (found["mlflow"]["experiment"], found["mlflow"]["parameter"]) == ("Default", "16")
    assert (found["wandb"]["name"], found["wandb"]["exit"]) == ("calm-otter-12", 0)
