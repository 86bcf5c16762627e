"""Programs in environments of their own, whose libraries Starboard does not install."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python_of(name: str, how: str) -> Path:
    """The interpreter of `.venv-<name>`; the test is skipped where there is none."""
    python = ROOT / f".venv-{name}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"There is no .venv-{name}: {how}")
    return python


def run_in(python: Path, *arguments: str | Path, **variables: str) -> str:
    """What it prints. Nothing is downloaded."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "client"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "VERL_USE_EXTERNAL_MODULES": "starboard_client.verl",  # as the client's installation does by an entry point
        **variables,
    }
    command = [str(python), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
