"""A run on a disk that fills up waits for room, and loses nothing. The disk is a real one, of a few megabytes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import RunConfig
from engine.disk_room import DiskRoom
from engine.events import PhaseChanged
from engine.training.checkpoint_folder import checkpoints, is_valid
from engine.training.run_directory import EventLog
from engine.training.session import EXIT_DONE, EXIT_INTERRUPTED
from tests.engine.models import save_small_model
from tests.engine.training.during_a_run import end_this_process, request, train_while, wait_for_step
from tests.engine.training.test_runs import events_of, run_config, steps_of

DISK = 24 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", path], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a file system")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def fill(disk: Path) -> Path:
    """Leaves no byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while True:
                    file.write(b"0" * size)
            except OSError:
                continue
    return filler


def long_run(model: Path, background: str) -> RunConfig:
    return run_config(
        model,
        steps=400,
        checkpoint={"every": 2, "keep": 1, "background": background},
        capture={"keep_steps": 2},
        evaluation={"every": 0, "at_start": False, "final_episodes": 4},
    )


def wait_until_it_waits(directory: Path) -> int:
    """The step at which nothing more is recorded for two seconds."""
    deadline, newest, since = time.monotonic() + 120, -1, time.monotonic()
    while time.monotonic() < deadline:
        size = (directory / "events.jsonl").stat().st_size
        if size != newest:
            newest, since = size, time.monotonic()
        elif time.monotonic() - since > 2:
            return max(steps_of(directory))
        time.sleep(0.1)
    raise AssertionError("it never waited")


@pytest.mark.slow
@pytest.mark.parametrize("background", ["never", "always"])
def test_a_run_waits_for_room_and_then_continues_with_every_event_and_checkpoint(
    model: Path, disk: Path, background: str
) -> None:
    directory = disk / "run"

    def fill_and_make_room() -> None:
        wait_for_step(directory, 3)
        filler = fill(disk)
        try:
            waited_at = wait_until_it_waits(directory)
        finally:
            filler.unlink()
        wait_for_step(directory, waited_at + 4)
        request(directory, "stop")

    assert train_while(fill_and_make_room, long_run(model, background), directory) == EXIT_DONE
    events = events_of(directory)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sorted(steps_of(directory)) == list(range(1, max(steps_of(directory)) + 1))
    assert all(is_valid(path) for path in checkpoints(directory / "checkpoints"))
    assert not list(disk.rglob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("background", ["never", "always"])
def test_a_run_that_waits_for_room_can_be_interrupted_and_resumes_from_its_checkpoint(
    model: Path, disk: Path, background: str
) -> None:
    directory = disk / "run"

    def fill_and_interrupt() -> None:
        wait_for_step(directory, 3)
        fill(disk)
        wait_until_it_waits(directory)
        end_this_process()

    assert train_while(fill_and_interrupt, long_run(model, background), directory) == EXIT_INTERRUPTED
    (disk / "filler").unlink()
    assert any(is_valid(path) for path in checkpoints(directory / "checkpoints"))


def test_without_a_run_to_stop_nothing_waits(disk: Path) -> None:
    log = EventLog(disk / "events.jsonl", attempt=1, epoch=0)
    fill(disk)
    with pytest.raises(OSError, match="No space left"):
        log.emit(PhaseChanged(step=0, phase="loading", detail="d" * 10_000))


def test_an_event_waits_and_is_written_once_there_is_room(disk: Path) -> None:
    looks: list[int] = []
    filler: list[Path] = []

    def make_room() -> None:
        looks.append(1)
        if len(looks) == 3:
            filler[0].unlink()

    room = DiskRoom(disk, check_cancelled=make_room, pause=0.01)
    log = EventLog(disk / "events.jsonl", attempt=1, epoch=0, room=room)
    filler.append(fill(disk))
    assert log.emit(PhaseChanged(step=0, phase="loading", detail="d" * 10_000)).seq == 1
    assert len(looks) >= 3
    assert len(events_of(disk)) == 1


def test_errors_of_other_causes_are_raised_at_once(tmp_path: Path) -> None:
    room = DiskRoom(tmp_path, check_cancelled=lambda: None)
    with pytest.raises(FileNotFoundError):
        room.write((tmp_path / "gone/file").read_bytes)
