"""MLflow's site on a store that is filled with made-up rows, for what is measured next to it."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.first_load import ROOT, free_port, process

QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # six processes less


def store_in(scratch: Path) -> str:
    return f"sqlite:///{scratch / 'mlflow.db'}"


def filled(python: str, module: str, rows: Path, *more: str) -> list[str]:
    """The ids that `module` prints once it has written `rows` to the store beside them."""
    command = [python, "-m", module, str(rows), store_in(rows.parent), *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | QUIET, check=False)
    if done.returncode:
        raise SystemExit(f"MLflow's tables could not be filled:\n{done.stderr[-3000:]}")
    return done.stdout.split()


@contextlib.contextmanager
def served(python: str, scratch: Path) -> Iterator[str]:
    """The origin of a server of the store."""
    port = free_port()
    command = [python, "-m", "mlflow", "server", "--backend-store-uri", store_in(scratch), "--host", "127.0.0.1"]
    command += ["--workers", "1", "--port", str(port)]
    origin = f"http://127.0.0.1:{port}"
    with process(command, f"{origin}/health", environment=QUIET, folder=scratch, seconds=400):
        yield origin


def compared(turns: int, ours: Callable[[], float], theirs: Callable[[], float]) -> dict[str, Any]:
    """Medians of milliseconds and of the turns' ratios, after one turn to warm up."""
    times = [(ours(), theirs()) for _ in range(turns + 1)][1:]
    ratios = [mlflow / starboard for starboard, mlflow in times]
    return {
        "starboard_ms": round(statistics.median(starboard for starboard, _ in times)),
        "mlflow_ms": round(statistics.median(mlflow for _, mlflow in times)),
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(min(ratios), 2), round(max(ratios), 2)],
    }
