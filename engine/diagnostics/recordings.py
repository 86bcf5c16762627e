"""Recorded runs as detectors read them: the metrics of each step that counts. No torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from engine.config import DetectorsConfig, StopConfig
from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.diagnostics.detectors import build_detectors
from engine.diagnostics.held_out import held_out_metrics
from engine.errors import RunDirectoryError
from engine.event_lines import parse_event, why_refused
from engine.events import EvaluationCompleted, Event, RunStarted, StepCompleted

LOST = 0.05  # training success below this to the end is a collapse
LASTING_STEPS = 5  # recorded steps that it has to be below


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The steps of one run, in order, as `(step, metrics)`, and its held-out evaluations, each after its step."""

    name: str
    steps: list[tuple[int, Metrics]]
    evaluations: list[tuple[int, Metrics]] = field(default_factory=list)

    @property
    def collapsed_at(self) -> int | None:
        """The first of the steps, at least 5, in which training success stayed below 5% to the end; else None.

        A run that never had success cannot collapse.
        """
        return collapse_of([(step, metrics.get("rollout/success", 1.0)) for step, metrics in self.steps])


def collapse_of(successes: Sequence[tuple[int, float]]) -> int | None:
    """The first step of a collapse, given `(step, training success)` of each recorded step in order."""
    low = [step for step, _ in takewhile(lambda one: one[1] < LOST, reversed(successes))]
    return low[-1] if LASTING_STEPS <= len(low) < len(successes) else None


@dataclass(frozen=True, slots=True)
class Firing:
    step: int
    alert: AlertDraft


def read_recording(directory: Path) -> Recording:
    """The metrics of a run directory's steps; of a step that a resumed attempt made again, the later one counts."""
    steps: dict[int, Metrics] = {}
    evaluations: dict[tuple[int, bool], dict[str, EvaluationCompleted]] = defaultdict(dict)
    for event in read_events(directory):
        match event:
            case RunStarted():
                since = event.resumed_from or 0
                steps = {step: metrics for step, metrics in steps.items() if step <= since}
                for key in [key for key in evaluations if key[0] > since or key[1]]:
                    del evaluations[key]
            case StepCompleted():
                steps[event.step] = event.metrics
            case EvaluationCompleted():
                evaluations[event.step, event.final][event.environment] = event
    if not steps:
        raise RunDirectoryError(f"{directory} has no steps.", remedy="Give runs that have made at least one step.")
    return Recording(
        name=directory.resolve().name,
        steps=sorted(steps.items()),
        evaluations=[(step, held_out_metrics(of.values())) for (step, _), of in sorted(evaluations.items())],
    )


def read_events(directory: Path) -> list[Event]:
    """All events of a run directory, without a last line that is still being written."""
    path = directory / "events.jsonl"
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        raise RunDirectoryError(f"There is no {path}.", remedy="Give the directories of runs.") from None
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(parse_event(line))
        except ValueError as error:
            if number < len(lines):
                raise RunDirectoryError(
                    f"Line {number} of {path} is not an event: {why_refused(error)}.",
                    remedy="Give a run that this version of the engine recorded.",
                ) from None
    return events


def replay(recording: Recording, detectors: DetectorsConfig) -> list[Firing]:
    """The alerts that the rules would have raised, in order; their actions are not carried out."""
    watching = build_detectors(StopConfig(), detectors)
    readings = [(step, watching.observe, metrics) for step, metrics in recording.steps]
    readings += [(step, watching.observe_evaluation, metrics) for step, metrics in recording.evaluations]
    readings.sort(key=lambda one: one[0])  # stable, so an evaluation comes after its step
    return [Firing(step, alert) for step, observe, metrics in readings for alert in observe(step, metrics).alerts]
