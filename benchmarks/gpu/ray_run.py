"""A short run on Ray with vLLM: colocated, disaggregated, and disaggregated with rollouts a step ahead.

Needs the requirements for clusters; `RAY_ADDRESS` as for any run. A model of 0.5 billion parameters and random weights
plays FrozenLake, so that every response is as long as it may be. Reported are medians over steps: seconds of each phase
(`time/…`; with the rollout ahead, `time/rollout` is what the learner waited for it) and of the whole step. What needs
two sets of GPUs is left out where there are too few, and named.

    python -m benchmarks.gpu.ray_run [--small] [--samplers N] [--learners N] [--sampler vllm|torch] [--steps N]
        [--only colocated|disaggregated|overlap …]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.models import QWEN25_HALF_BILLION, device_name, save_random_model
from engine.event_lines import parse_event
from engine.metrics import OF_THE_MACHINE
from engine.policies.loading import load_tokenizer

WARM_UP = 1
LIMIT_SECONDS = 1800.0
ARRANGEMENTS: dict[str, dict[str, Any]] = {
    "colocated": {"placement": "colocated"},
    "disaggregated": {"placement": "disaggregated"},
    "overlap": {"placement": "disaggregated", "overlap": True},
}
REPORTED = (*OF_THE_MACHINE, "policy/sampler_gap", "policy/staleness")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="the small model, for any machine")
    parser.add_argument("--samplers", type=int, default=1)
    parser.add_argument("--learners", type=int, default=1)
    parser.add_argument("--sampler", choices=["vllm", "torch"], default="vllm")
    parser.add_argument("--steps", type=int, default=4, help="that count, after one")
    parser.add_argument("--only", choices=ARRANGEMENTS, nargs="+", default=list(ARRANGEMENTS))
    options = parser.parse_args()
    gpus = torch.cuda.device_count()
    enough = not gpus or bool(os.environ.get("RAY_ADDRESS")) or gpus >= options.samplers + options.learners
    possible = [name for name in options.only if enough or name == "colocated"]
    with tempfile.TemporaryDirectory() as folder:
        model = "tiny" if options.small else playing_model(Path(folder) / "model")
        found = {name: timed(config_of(options, model, name), Path(folder) / name) for name in possible}
    result = {
        "benchmark": "gpu_ray_run",
        "device": device_name(),
        "gpus": gpus,
        "samplers": options.samplers,
        "learners": options.learners,
        "sampler": options.sampler,
        "not_run": [name for name in options.only if name not in possible],
        **found,
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def playing_model(folder: Path) -> str:
    """With the small model's vocabulary, which is a subset of this one's."""
    load_tokenizer("tiny").save_pretrained(folder)
    return save_random_model(QWEN25_HALF_BILLION, folder)


def config_of(options: argparse.Namespace, model: str, arrangement: str) -> dict[str, Any]:
    small = options.small
    return {
        "backend": "ray",
        "steps": WARM_UP + options.steps,
        "model": {"path": model},
        "environments": [{"kind": "frozen_lake", "max_turns": 2 if small else 5, "max_response_tokens": 40}],
        "rollout": {"groups": 4 if small else 32, "group_size": 4 if small else 8},
        "optimizer": {"micro_batch_tokens": 0 if small else 8192, "learning_rate": 1e-6},
        "diagnostics": {"every": 0},
        "evaluation": {"every": 0, "at_start": False, "final_episodes": 1},
        "checkpoint": {"every": 0},
        "capture": {"every": 0},
        "cluster": {
            "sampler": options.sampler,
            **ARRANGEMENTS[arrangement],
            "samplers": options.samplers,
            "learners": options.learners,
            "memory_share": 0.4 if arrangement == "colocated" else 0.85,
        },
    }


def timed(config: dict[str, Any], directory: Path) -> dict[str, float]:
    """Medians over the steps after the first."""
    directory.mkdir()
    file = directory / "asked.json"
    file.write_text(json.dumps(config))
    command = [
        sys.executable,
        "-m",
        "engine",
        "train",
        str(file),
        "--run-dir",
        str(directory),
        "--quiet",
        "--no-sized-defaults",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    if done.returncode:
        raise SystemExit(f"The run failed:\n{(done.stdout + done.stderr)[-3000:]}\n{last_event(directory)}")
    steps: list[dict[str, float]] = []
    for line in (directory / "events.jsonl").read_bytes().splitlines():
        event = parse_event(line)
        if event.kind == "step_completed" and event.step > WARM_UP:
            steps.append(event.metrics)
    names = sorted({name for step in steps for name in step if name.startswith(REPORTED)})
    return {name: round(statistics.median(step[name] for step in steps if name in step), 5) for name in names}


def last_event(directory: Path) -> str:
    events = directory / "events.jsonl"
    return events.read_text().splitlines()[-1][:2000] if events.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
