"""Results of requested evaluations on their way into a run's events: while an engine trains, only it may write them.

Another process evaluates (`engine evaluate --record`). It leaves the events in a file of the run directory, from which
the engine takes them between two steps; where no engine is running, it appends them itself.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.errors import RunDirectoryError
from engine.event_lines import parse_event
from engine.events import CheckpointEvaluated as Evaluated
from engine.events import Event, ProblemsPlayed
from engine.training.run_directory import EventLog, RunDirectory, write_json

log = logging.getLogger(__name__)

FOLDER = "requested_evaluations"
Result = Evaluated | ProblemsPlayed
RESULTS: TypeAdapter[list[Result]] = TypeAdapter(list[Result])


def hand_over(run_directory: Path, results: Iterable[Result]) -> None:
    """Returns when the results are among the run's events."""
    folder = run_directory / FOLDER
    folder.mkdir(exist_ok=True)
    file = folder / f"{uuid.uuid4().hex}.json"
    write_json(file, [result.model_dump(mode="json") for result in results])
    while file.exists():
        try:
            directory = RunDirectory(run_directory)  # waits for a second
        except RunDirectoryError:
            continue
        try:
            _append(directory)
        finally:
            directory.close()


def take(directory: RunDirectory, events: EventLog, *, last_step: int | None = None) -> dict[int, list[Evaluated]]:
    """Records what has been left, and removes it; returns the recorded results by step.

    Those after `last_step` are dropped: the run resumed from an earlier checkpoint than they are of.
    """
    taken: dict[int, list[Evaluated]] = {}
    for file in sorted((directory.path / FOLDER).glob("*.json")):
        try:
            results = RESULTS.validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            log.warning("%s has no results of an evaluation: %s", file, error)
            results = []
        for result in results:
            if last_step is not None and result.step > last_step:
                continue
            events.emit(result)
            if isinstance(result, Evaluated):
                taken.setdefault(result.step, []).append(result)
        file.unlink(missing_ok=True)
    return taken


def _append(directory: RunDirectory) -> None:
    newest = _newest_event(directory.events)
    if newest is None:
        raise RunDirectoryError(f"{directory.path} has no events.", remedy="Evaluate a run that has been trained.")
    events = EventLog(directory.events, attempt=newest.attempt, epoch=newest.epoch)
    try:
        take(directory, events)
    finally:
        events.close()


def _newest_event(path: Path) -> Event | None:
    lines = path.read_bytes().splitlines() if path.exists() else []
    for line in reversed(lines):
        try:
            return parse_event(line)
        except ValueError:
            continue
    return None
