"""A short run that a real engine trained with the model that ships, in rows: all files are the engine's own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.config import build_config
from webapp.runs.models import Run
from workers.rebuilding import rebuild

SETTINGS: dict[str, Any] = {
    "preset": "Starter",
    "steps": 4,
    "seed": 3,
    "threads": 1,
    "environments": [{"kind": "frozen_lake", "tag": "Lake", "max_turns": 3}],
    "rollout": {"groups": 6, "group_size": 4},
    "filter": {"type": "top_p", "value": 0.9},
    "loss": {"entropy_coefficient": 0.001},
    "diagnostics": {"every": 1, "gradients_every": 2, "gradient_buckets": 3, "reasonings": 12, "prompts": 6},
    "evaluation": {"every": 0, "at_start": False, "final_episodes": 4},
    "checkpoint": {"every": 0},
}


def train_in(directory: Path) -> Path:
    """Trains in a process of its own; the run directory, without the checkpoint."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(build_config(SETTINGS).model_dump_json())
    command = [sys.executable, "-m", "engine", "train", str(directory / "config.json"), "--run-dir", str(directory)]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shutil.rmtree(directory / "checkpoints")
    return directory


def trained_once(factory: pytest.TempPathFactory) -> Path:
    """The same directory for all tests of a session, in whichever process they run."""
    own = factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "trained"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "run").exists():
            train_in(factory.mktemp("training") / "run").rename(shared / "run")
    return shared / "run"


def run_of(trained: Path, *, name: str = "calm-otter-12") -> Run:
    """A run of the site with a copy of the directory, and the rows of its events."""
    config = build_config(SETTINGS)
    run = Run.objects.create(
        name=name, preset=config.preset, config=config.model_dump(mode="json"), total_steps=config.steps,
        state="finished",
    )  # fmt: skip
    shutil.copytree(trained, run.directory)
    return rebuild(run.pk)
