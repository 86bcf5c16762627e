"""Results of requested evaluations on their way into a run's events: while an engine trains, only it may write them.

Another process evaluates (`engine evaluate --record`). It leaves the events in a file of the run directory, from which
the engine takes them between two steps; where no engine is running, it appends them itself.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.errors import RunDirectoryError
from engine.event_lines import parse_event
from engine.events import CheckpointEvaluated as Evaluated
from engine.events import ProblemsPlayed
from engine.training.newest_event import NewestEvent, read_newest
from engine.training.run_directory import EventLog, RunDirectory, write_json

log = logging.getLogger(__name__)

FOLDER = "requested_evaluations"
Result = Evaluated | ProblemsPlayed
RESULTS: TypeAdapter[list[Result]] = TypeAdapter(list[Result])
NEWEST_IN_ROWS = "STARBOARD_NEWEST_IN_ROWS"  # names the file, in the environment of an engine that a worker started
ANSWER_SECONDS = 10.0


def newest_in_rows(known: NewestEvent) -> NewestEvent:
    """What the site has stored by now: the worker writes its file again once that is removed. The run may have gone on
    since the evaluation began. `known` if there is no worker, or if it has not written the file."""
    file = Path(os.environ.get(NEWEST_IN_ROWS, ""))
    if not file.is_file():
        return known
    found = NewestEvent.model_validate_json(file.read_bytes())
    file.unlink()
    until = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < until:
        if file.is_file():
            return NewestEvent.model_validate_json(file.read_bytes())
        time.sleep(0.02)
    return found


def hand_over(run_directory: Path, results: Iterable[Result]) -> None:
    """Returns when the results are among the run's events."""
    folder = run_directory / FOLDER
    folder.mkdir(exist_ok=True)
    file = folder / f"{uuid.uuid4().hex}.json"
    write_json(file, [result.model_dump(mode="json") for result in results])
    rows = NewestEvent()
    while file.exists():
        rows = newest_in_rows(rows)
        try:
            directory = RunDirectory(run_directory)  # waits for a second
        except RunDirectoryError:
            continue
        try:
            _append(directory, rows)
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


def _append(directory: RunDirectory, rows: NewestEvent) -> None:
    """As the newest engine would have: the file of events may have been cut since, and what the site knows of it is
    not known in a shell."""
    in_file = _newest_event(directory.events)
    newest = max((in_file, read_newest(directory.path), rows), key=lambda one: one.attempt)
    if not newest.seq:
        raise RunDirectoryError(f"{directory.path} has no events.", remedy="Evaluate a run that has been trained.")
    events = EventLog(directory.events, attempt=newest.attempt, epoch=newest.epoch, known=rows.seq)
    try:
        take(directory, events)
    finally:
        events.close()


def _newest_event(path: Path) -> NewestEvent:
    lines = path.read_bytes().splitlines() if path.exists() else []
    for line in reversed(lines):
        try:
            event = parse_event(line)
        except ValueError:
            continue
        return NewestEvent(seq=event.seq, attempt=event.attempt, epoch=event.epoch)
    return NewestEvent()
