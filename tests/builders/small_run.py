"""A real run of one step with the model that ships: its directory, its row, and rows of its trajectories."""

from __future__ import annotations

from pathlib import Path

from engine.config import RunConfig, build_config
from engine.events import TrajectoriesRecorded
from engine.rollout.trajectory_files import read_records
from engine.training.session import EXIT_DONE, train
from webapp.runs.models import Checkpoint, Run
from webapp.trajectories.models import Trajectory
from workers.rows import Rows

FILE = "trajectories/train/step_1.jsonl.zst"


def small_config() -> RunConfig:
    return build_config(
        {
            "steps": 1,
            "threads": 1,
            "rollout": {"groups": 2, "group_size": 2},
            "diagnostics": {"every": 0},
            "evaluation": {"every": 0, "at_start": False, "final_episodes": 1},
        }
    )


def make_small_run(run_dir: Path) -> Path:
    """Trains in `run_dir`, whose name is the run's id; no rows yet."""
    assert train(small_config(), run_dir) == EXIT_DONE
    return run_dir


def add_small_run(run_dir: Path) -> Trajectory:
    """The rows of a run directory below `RUNS_DIR`; the row of its trajectory with most turns."""
    config = small_config().model_dump(mode="json")
    run = Run.objects.create(pk=run_dir.name, name="a small run", config=config, state="finished", step=1)
    Checkpoint.objects.create(run=run, step=1, path="checkpoints/step_1", bytes=1, reason="final", time=1.0)
    rows = Rows(run)
    count = sum(1 for _ in read_records(run.directory / FILE))
    rows.add(TrajectoriesRecorded(seq=1, time=1.0, attempt=1, epoch=0, step=1, split="train", path=FILE, count=count))
    found = Trajectory.objects.bulk_create(rows.trajectories[FILE])
    return max(found, key=lambda row: row.turns)
