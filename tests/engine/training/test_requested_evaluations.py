"""Results of requested evaluations enter a run's events once, through the engine that trains or without one."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from engine.errors import RunDirectoryError
from engine.event_lines import parse_event
from engine.events import CheckpointEvaluated, Event, PhaseChanged
from engine.training.requested_evaluations import FOLDER, hand_over, take
from engine.training.run_directory import EventLog, RunDirectory


def result(step: int, *, successes: int = 3) -> CheckpointEvaluated:
    return CheckpointEvaluated(
        step=step, environment="Lake", episodes=4, successes=successes, success=successes / 4, low=0.3, high=0.95,
        mean_return=0.5, first_seed=1, temperature=1.0, seconds=2.0,
    )  # fmt: skip


def leave(run: Path, *, step: int) -> None:
    """As `hand_over` does, without waiting."""
    (run / FOLDER).mkdir(parents=True)
    (run / FOLDER / "a.json").write_text(f"[{result(step).model_dump_json()}]")


def events_in(run: Path) -> list[Event]:
    return [parse_event(line) for line in (run / "events.jsonl").read_bytes().splitlines()]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A directory with one event, of the second attempt under the fifth supervisor."""
    log = EventLog(tmp_path / "events.jsonl", attempt=2, epoch=5)
    log.emit(PhaseChanged(step=9, phase="rollout"))
    log.close()
    return tmp_path


def test_without_an_engine_they_are_appended_as_a_part_of_the_newest_attempt(run: Path) -> None:
    hand_over(run, [result(4)])
    newest = events_in(run)[-1]
    assert (newest.kind, newest.step, newest.seq, newest.attempt, newest.epoch) == ("checkpoint_evaluated", 4, 2, 2, 5)
    assert list((run / FOLDER).iterdir()) == []


@pytest.mark.parametrize("lines_left", [0, 1, None])
def test_in_a_shell_a_result_has_a_number_of_its_own_although_the_file_was_cut_or_deleted(
    run: Path, lines_left: int | None
) -> None:
    """Event 1 of attempt 2, then events 2 and 3 of attempt 3 under the sixth supervisor: the result is number 4."""
    log = EventLog(run / "events.jsonl", attempt=3, epoch=6)
    for phase in ("rollout", "update"):
        log.emit(PhaseChanged(step=9, phase=phase))
    log.close()
    cut(run / "events.jsonl", lines_left)
    hand_over(run, [result(4)])
    newest = events_in(run)[-1]
    assert (newest.kind, newest.seq, newest.attempt, newest.epoch) == ("checkpoint_evaluated", 4, 3, 6)
    cut(run / "events.jsonl", lines_left)
    hand_over(run, [result(5)])
    assert events_in(run)[-1].seq == 5


def cut(path: Path, lines_left: int | None) -> None:
    """Deletes the file if no number is given."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    if lines_left is not None:
        path.write_bytes(b"".join(lines[:lines_left]))


def test_while_an_engine_trains_it_takes_them_and_nobody_else_writes(run: Path) -> None:
    directory = RunDirectory(run)  # as the engine holds it
    log = EventLog(directory.events, attempt=2, epoch=5)
    other = threading.Thread(target=hand_over, args=[run, [result(4)]])
    other.start()
    until = time.monotonic() + 10
    while not (taken := take(directory, log, last_step=9)) and time.monotonic() < until:
        time.sleep(0.01)
    other.join(10)
    assert not other.is_alive()
    assert {step: [one.success for one in found] for step, found in taken.items()} == {4: [0.75]}
    log.emit(PhaseChanged(step=9, phase="update"))
    assert [event.seq for event in events_in(run)] == [1, 2, 3]
    assert log.step == 9
    directory.close()


def test_results_of_steps_that_the_run_no_longer_has_are_dropped(run: Path) -> None:
    directory = RunDirectory(run)
    log = EventLog(directory.events, attempt=2, epoch=5)
    leave(run, step=10)
    (run / FOLDER / "b.json").write_text("[{}]")
    assert take(directory, log, last_step=9) == {}
    assert len(events_in(run)) == 1
    assert list((run / FOLDER).iterdir()) == []
    directory.close()


def test_a_directory_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="has no events"):
        hand_over(tmp_path, [result(4)])
