"""The record of events on a disk that fills up, and one that is damaged: whole lines, and a run that can go on."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.events import PhaseChanged, RunFailed
from engine.training.newest_event import FILE
from engine.training.run_directory import EventLog


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files of this process may grow to `size` bytes; a write across that is cut short, as on a disk that fills up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def opened(path: Path, *, attempt: int = 1) -> EventLog:
    return EventLog(path, attempt=attempt, epoch=0)


def kinds_in(path: Path) -> list[tuple[int, str]]:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [(event["seq"], event["kind"]) for event in events]


# a line that is shorter than a buffer of Python's, and one that is longer
@pytest.mark.parametrize("length", [10, 100_000])
def test_an_event_that_finds_no_room_leaves_nothing_and_the_next_one_has_its_number(
    tmp_path: Path, length: int
) -> None:
    path = tmp_path / "events.jsonl"
    log = opened(path)
    log.emit(PhaseChanged(step=1, phase="rollout"))
    with room_for(path.stat().st_size + 5), pytest.raises(OSError, match="File too large"):
        log.emit(PhaseChanged(step=1, phase="update", detail="d" * length))
    log.emit(RunFailed(step=1, error="OSError", message="No space left on device"))
    log.close()
    assert kinds_in(path) == [(1, "phase_changed"), (2, "run_failed")]
    assert opened(path, attempt=2).emit(PhaseChanged(step=1, phase="rollout")).seq == 3


@pytest.mark.parametrize(("known", "number"), [(0, 3), (2, 3), (7, 8)])
def test_numbers_that_others_know_are_not_given_again_to_events_of_a_file_that_was_cut(
    tmp_path: Path, known: int, number: int
) -> None:
    path = tmp_path / "events.jsonl"
    first = opened(path)
    for step in (1, 2):
        first.emit(PhaseChanged(step=step, phase="rollout"))
    log = EventLog(path, attempt=2, epoch=0, known=known)
    assert log.emit(PhaseChanged(step=2, phase="rollout")).seq == number


@pytest.mark.parametrize(("beside", "number"), [(None, 3), (b"", 1), (b"{torn", 1)])
def test_numbers_go_on_after_a_file_was_deleted_as_long_as_the_one_beside_it_can_be_read(
    tmp_path: Path, beside: bytes | None, number: int
) -> None:
    path = tmp_path / "events.jsonl"
    log = opened(path)
    for step in (1, 2):
        log.emit(PhaseChanged(step=step, phase="rollout"))
    log.close()
    path.unlink()
    if beside is not None:
        (tmp_path / FILE).write_bytes(beside)
    assert opened(path).emit(PhaseChanged(step=1, phase="rollout")).seq == number


@pytest.mark.parametrize(
    "damage", [b'{"seq": 2, "ki{"seq": 2}\n', b"\xff\n\n", b'{"kind": "of another version", "seq": 2}\n']
)
def test_a_damaged_line_keeps_nobody_from_going_on_after_the_last_one_that_is_whole(
    tmp_path: Path, damage: bytes
) -> None:
    path = tmp_path / "events.jsonl"
    opened(path).emit(PhaseChanged(step=1, phase="rollout"))
    whole = path.read_bytes()
    path.write_bytes(whole + damage + b'{"seq": 3, "torn')
    assert opened(path, attempt=2).seq == 1
    assert path.read_bytes() == whole + damage  # a reader may be past it, and passes over it


def test_a_record_without_any_event_begins_at_one(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"damaged\n")
    assert opened(path).emit(PhaseChanged(step=0, phase="loading")).seq == 1
