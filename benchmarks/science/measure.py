"""What one run came to, small enough to keep in the repository: evaluations, curves of a few metrics, alerts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.science.experiment import Arm, Experiment
from benchmarks.science.runs import read_events
from engine.events import AlertRaised, EvaluationCompleted, RunStarted, StepCompleted

GONE = 0.05  # training success below this to the end counts as collapsed
DIGITS = 4


def measure(experiment: Experiment, arm: Arm, seed: int, directory: Path) -> dict[str, Any]:
    events = read_events(directory)
    steps = newest_attempts(events)
    finals = [event for event in events if isinstance(event, EvaluationCompleted)]
    return {
        "arm": arm.label,
        "seed": seed,
        "evaluations": [
            {name: getattr(event, name) for name in ("step", "environment", "episodes", "successes", "final")}
            for event in finals
        ],
        "curves": {name: curve(steps, name) for name in experiment.curves},
        "collapsed_at": collapsed_at(steps),
        "alerts": [[event.step, event.severity, event.rule] for event in events if isinstance(event, AlertRaised)],
        "seconds": round(steps[-1].seconds, 1),
        "steps": len(steps),
    }


def newest_attempts(events: list[Any]) -> list[StepCompleted]:
    """Each step once: what a resumed attempt took again replaces what the one before reported."""
    steps: dict[int, StepCompleted] = {}
    for event in events:
        if isinstance(event, RunStarted) and event.resumed_from is not None:
            steps = {number: step for number, step in steps.items() if number <= (event.resumed_from or 0)}
        elif isinstance(event, StepCompleted):
            steps[event.step] = event
    return [steps[number] for number in sorted(steps)]


def curve(steps: list[StepCompleted], name: str) -> list[list[float]]:
    return [[step.step, round(step.metrics[name], DIGITS)] for step in steps if name in step.metrics]


def collapsed_at(steps: list[StepCompleted]) -> int | None:
    """The first step from which training success stayed below 5% to the end, if there is one."""
    gone = None
    for step in steps:
        if step.metrics["rollout/success"] >= GONE:
            gone = None
        elif gone is None:
            gone = step.step
    return gone
