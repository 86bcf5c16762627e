"""Times training steps and their phases in a real run of a few steps."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from engine.config import RunConfig
from engine.errors import StarboardError
from engine.event_lines import parse_event
from engine.events import StepCompleted
from engine.training.session import train

WARM_UP = 4
PARTS = ("time/step", "time/rollout", "time/diagnostics", "time/update", "time/capture")
SPEEDS = ("perf/sampled_tokens_per_second", "perf/trained_tokens_per_second")


def print_step_times(config: RunConfig, *, steps: int) -> int:
    """One JSON line: medians in seconds and tokens per second, and the share of diagnostics at their cadence."""
    sys.stdout.write(json.dumps({"benchmark": "engine_step", **step_times(config, steps=steps)}) + "\n")
    return 0


def step_times(config: RunConfig, *, steps: int) -> dict[str, float]:
    timed = _run(without_evaluations(config, steps))
    result = {name: _median(timed, name) for name in (*PARTS, *SPEEDS)}
    diagnosed = sum(step.get("time/diagnostics", 0.0) for step in timed)
    result["diagnostics_share_at_cadence"] = diagnosed / sum(step["time/step"] for step in timed)
    return {name: round(value, 4) for name, value in result.items()}


def without_evaluations(config: RunConfig, steps: int) -> RunConfig:
    evaluation = config.evaluation.model_copy(update={"every": 0, "at_start": False, "final_episodes": 1})
    return config.model_copy(update={"steps": WARM_UP + steps, "evaluation": evaluation})


def _run(config: RunConfig) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as directory:
        if train(config, Path(directory)):
            raise StarboardError("The timed run failed.", remedy="Train with this configuration to see the error.")
        lines = (Path(directory) / "events.jsonl").read_bytes().splitlines()
    events = [parse_event(line) for line in lines]
    return [event.metrics for event in events if isinstance(event, StepCompleted) and event.step > WARM_UP]


def _median(steps: list[dict[str, float]], name: str) -> float:
    values = [step[name] for step in steps if name in step]
    return statistics.median(values) if values else 0.0
