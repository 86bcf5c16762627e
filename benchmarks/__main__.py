"""`python -m benchmarks`: runs each benchmark in a process of its own, one after the other; one JSON line each.

`python -m benchmarks NAME …` runs only those. On a busy machine the absolute numbers mean little; ratios against
another tool in the same run mean more.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

from benchmarks.first_load import TRACKERS_PYTHON
from benchmarks.training_against_trl import TRL_PYTHON

STARTER = "engine/configs/starter.toml"
COMMANDS = {
    "engine_start": ["benchmarks.engine_start"],
    "engine_step": ["engine", "bench", STARTER],
    "step_profile": ["benchmarks.step_profile"],
    "diagnostics_cost": ["benchmarks.diagnostics_cost"],
    "training_against_trl": ["benchmarks.training_against_trl"],
    "sampling_against_vllm": ["benchmarks.sampling_against_vllm"],
    "vllm_engines": ["benchmarks.vllm_engines"],
    "rounded_weights": ["benchmarks.rounded_weights"],
    "long_contexts": ["benchmarks.long_contexts"],
    "checkpoint_writes": ["benchmarks.checkpoint_writes"],
    "environments": ["benchmarks.environments"],
    "environment_pools": ["benchmarks.environments.pools"],
    "ingestion": ["benchmarks.ingestion"],
    "imports": ["benchmarks.imports"],
    "recording": ["benchmarks.recording"],
    "request_threads": ["benchmarks.request_threads"],
    "run_lists": ["benchmarks.run_lists"],
    "trajectory_list": ["benchmarks.trajectory_list"],
    "charts": ["benchmarks.charts"],
    "first_load": ["benchmarks.first_load"],
    "lists_against_mlflow": ["benchmarks.lists_against_mlflow"],
    "trajectories_against_mlflow": ["benchmarks.trajectories_against_mlflow"],
    "charts_against_mlflow": ["benchmarks.charts_against_mlflow"],
    "reader_opening": ["benchmarks.reader_opening"],
    "event_to_pixel": ["benchmarks.event_to_pixel"],
    "watchers": ["benchmarks.watchers"],
}
WITH_VLLM = ("sampling_against_vllm", "vllm_engines")
WITH_MLFLOW = ("lists_against_mlflow", "trajectories_against_mlflow", "charts_against_mlflow")
IN_A_BROWSER = ("charts", "first_load", *WITH_MLFLOW, "reader_opening", "event_to_pixel")


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in COMMANDS]:
        raise SystemExit(f"There is no benchmark {unknown[0]!r}. Use one of: {', '.join(COMMANDS)}.")
    failed = 0
    for name in names or COMMANDS:
        if problem := missing(name):
            sys.stdout.write(f"{name}: not run. {problem}\n")
            continue
        sys.stdout.flush()
        failed |= subprocess.run([sys.executable, "-m", *COMMANDS[name]], check=False).returncode
    return 1 if failed else 0


def missing(name: str) -> str:
    """Requirements of a benchmark that this machine lacks."""
    if name in WITH_VLLM and importlib.util.find_spec("vllm") is None:
        return "It needs vLLM: requirements/cluster.txt says how."
    if name == "training_against_trl" and not TRL_PYTHON.exists():
        return "It needs TRL in an environment of its own: make setup-trl."
    if name in WITH_MLFLOW and not TRACKERS_PYTHON.exists():
        return "It needs MLflow in an environment of its own: make setup-trackers."
    if name in IN_A_BROWSER and not (shutil.which("chromium") or shutil.which("chromium-browser")):
        return "It needs Chromium on the PATH: apt install chromium."
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
