"""A run directory: its files, its lock, and the append-only record of events."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import Any, TextIO

from engine.config import RunConfig
from engine.disk_room import DiskRoom
from engine.errors import RunDirectoryError
from engine.event_lines import line_of, newest_seq
from engine.events import Event
from engine.line_files import remove_partial_line
from engine.training.checkpoint_folder import sync
from engine.training.newest_event import NewestEvent, NewestEventFile, read_newest

Sink = Callable[[Event], None]


class RunDirectory:
    """Opened by one engine at a time; a file lock refuses a second one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._lock = (path / "lock").open("a")
        if not _acquire(self._lock, seconds=1.0):  # a check for a running engine holds it for a moment
            self._lock.close()
            raise RunDirectoryError(
                f"Another engine is running in {path}.", remedy="Wait for it, stop it, or use another --run-dir."
            )

    def close(self) -> None:
        """Releases the lock."""
        self._lock.close()

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def control(self) -> Path:
        return self.path / "control.json"

    @property
    def heartbeat(self) -> Path:
        return self.path / "heartbeat.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def new_trajectory_file(self, split: str, step: int, *, attempt: int) -> Path:
        """`step_7.jsonl.zst`, or of a later attempt `step_7.2.jsonl.zst`: what an earlier one recorded stays. A name
        that a file has is not given again."""
        folder = self.path / "trajectories" / split
        first = [f"step_{step}.jsonl.zst"] if attempt == 1 else []
        names = chain(first, (f"step_{step}.{number}.jsonl.zst" for number in count(max(2, attempt))))
        return next(path for name in names if not (path := folder / name).exists())

    def trajectory_files(self, split: str) -> list[tuple[int, Path]]:
        """Each with its step, in the order in which they were written; several of a step that more than one attempt
        recorded."""
        found = (self.path / "trajectories" / split).glob("step_*.jsonl.zst")
        written = sorted((path.stat().st_mtime_ns, _step_of(path), path) for path in found)
        return [(step, path) for _, step, path in written]

    @property
    def templates(self) -> Path:
        return self.path / "templates"

    def write_config(self, config: RunConfig) -> None:
        write_json(self.path / "config.json", config.model_dump(mode="json"))


def _acquire(lock: TextIO, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def write_json(path: Path, data: Any) -> None:
    """Replaces `path` atomically: a reader sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(data, indent=1))
    temporary.replace(path)


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix("step_").partition(".")[0])


class EventLog:
    """Appends events to `events.jsonl`, continuing its numbers. An incomplete last line is removed first.

    Numbers up to `known`, and those that a log of this run has given, are not given again, also if the file was deleted
    or cut: others have their events. `room` decides whether an event waits where the disk is full; without it, none
    does.
    """

    def __init__(
        self,
        path: Path,
        *,
        attempt: int,
        epoch: int,
        known: int = 0,
        sinks: list[Sink] | None = None,
        room: DiskRoom | None = None,
    ) -> None:
        self.room = room or DiskRoom(path.parent)
        self.attempt = attempt
        self.epoch = epoch
        self.sinks = sinks or []
        self.seq = max(_repair(path), read_newest(path.parent).seq, known)
        self.step = 0  # the highest of an event since this log was opened
        self._file = path.open("ab", buffering=0)
        self._newest = NewestEventFile(path.parent)
        sync(path.parent)  # the name of a new file
        self._lock = threading.Lock()  # rollouts ahead emit from another thread

    def emit(self, event: Event) -> Event:
        """Stamps the event and appends it; returns it as recorded.

        `OSError` if it cannot be written; the file then has no part of it.
        """
        with self._lock:
            recorded = event.stamped(seq=self.seq + 1, time=time.time(), attempt=self.attempt, epoch=self.epoch)
            line = line_of(recorded)
            self.room.write(lambda: self._append(line))
            self.seq, self.step = recorded.seq, max(self.step, recorded.step)
            self._newest.write(NewestEvent(seq=recorded.seq, attempt=self.attempt, epoch=self.epoch))
            for sink in self.sinks:
                sink(recorded)
            return recorded

    def _append(self, line: bytes) -> None:
        """All or nothing: the next event must not follow a partial one on its line."""
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]  # a write to an almost full disk may be partial
        except OSError:
            self._file.truncate(before)
            raise

    def sync(self) -> None:
        """Returns when all events so far would survive a power failure."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self.sync()
        self._file.close()
        self._newest.close()


def _repair(path: Path) -> int:
    """Removes an incomplete last line; returns the `seq` of the last event."""
    if path.exists():
        remove_partial_line(path)
    return newest_seq(path)
