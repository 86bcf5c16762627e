"""The result of one run, small enough to keep in the repository: evaluations, curves of a few metrics, alerts."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.science.experiment import Arm, Experiment
from engine.diagnostics.recordings import Recording, read_events, read_recording
from engine.events import AlertRaised, EvaluationCompleted, StepCompleted

DIGITS = 4


def measure(experiment: Experiment, arm: Arm, seed: int, directory: Path) -> dict[str, Any]:
    events = read_events(directory)
    recording = read_recording(directory)
    evaluations = [event for event in events if isinstance(event, EvaluationCompleted)]
    seconds = max(event.seconds for event in events if isinstance(event, StepCompleted))
    return {
        "arm": arm.label,
        "seed": seed,
        "evaluations": [
            {name: getattr(event, name) for name in ("step", "environment", "episodes", "successes", "final")}
            for event in evaluations
        ],
        "curves": {name: curve(recording, name) for name in experiment.curves},
        "means": {name: fmean(value for _, value in curve(recording, name)) for name in experiment.means},
        "collapsed_at": recording.collapsed_at,
        "alerts": [[event.step, event.severity, event.rule] for event in events if isinstance(event, AlertRaised)],
        "seconds": round(seconds, 1),
        "steps": len(recording.steps),
    }


def curve(recording: Recording, name: str) -> list[list[float]]:
    return [[step, round(metrics[name], DIGITS)] for step, metrics in recording.steps if name in metrics]
