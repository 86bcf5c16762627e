"""Recorded runs as detectors see them: the metrics of each step that counts. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from engine.config import DetectorsConfig, StopConfig
from engine.diagnostics.alerts import AlertDraft, Metrics
from engine.diagnostics.collapse import build_detectors
from engine.errors import RunDirectoryError
from engine.events import Event, RunStarted, StepCompleted, parse_event

GONE = 0.05  # training success below this to the end is a collapse


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The steps of one run, in order, as `(step, metrics)`."""

    name: str
    steps: list[tuple[int, Metrics]]

    @property
    def collapsed_at(self) -> int | None:
        """The first step from which training success stayed below 5% to the end; None where it did not."""
        gone = None
        for step, metrics in self.steps:
            if metrics.get("rollout/success", 1.0) >= GONE:
                gone = None
            elif gone is None:
                gone = step
        return gone


@dataclass(frozen=True, slots=True)
class Firing:
    step: int
    alert: AlertDraft


def read_recording(directory: Path) -> Recording:
    """The metrics of a run directory's steps; steps that a later attempt did again count as it did them."""
    steps: dict[int, Metrics] = {}
    for event in read_events(directory):
        if isinstance(event, RunStarted):
            since = event.resumed_from or 0
            steps = {step: metrics for step, metrics in steps.items() if step <= since}
        elif isinstance(event, StepCompleted):
            steps[event.step] = event.metrics
    if not steps:
        raise RunDirectoryError(f"{directory} has no steps.", remedy="Give runs that have made at least one step.")
    return Recording(name=directory.resolve().name, steps=sorted(steps.items()))


def read_events(directory: Path) -> list[Event]:
    """All events of a run directory; a last line that an engine is still writing is left out."""
    path = directory / "events.jsonl"
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        raise RunDirectoryError(f"There is no {path}.", remedy="Give the directories of runs.") from None
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(parse_event(line))
        except ValidationError as error:
            if number < len(lines):
                raise RunDirectoryError(
                    f"Line {number} of {path} is no event: {error.errors()[0]['msg']}.",
                    remedy="Give a run that this version of the engine recorded.",
                ) from None
    return events


def replay(recording: Recording, detectors: DetectorsConfig) -> list[Firing]:
    """What the rules would have raised, and when; what they would have done is not acted out."""
    watching = build_detectors(StopConfig(), detectors)
    return [
        Firing(step, alert) for step, metrics in recording.steps for alert in watching.observe(step, metrics).alerts
    ]
