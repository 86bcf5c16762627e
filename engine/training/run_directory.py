"""A run directory: its files, its lock, and the append-only record of events."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from engine.config import RunConfig
from engine.errors import RunDirectoryError
from engine.events import EVENT, Event

Sink = Callable[[Event], None]


class RunDirectory:
    """Opened by one engine at a time; a second one is refused by the kernel's file lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._lock = (path / "lock").open("a")
        if not _takes(self._lock, seconds=1.0):  # who only looks whether an engine lives holds it for an instant
            self._lock.close()
            raise RunDirectoryError(
                f"Another engine is working in {path}.", remedy="Wait for it, stop it, or give another --run-dir."
            )

    def close(self) -> None:
        """Lets the next engine in."""
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

    def trajectory_file(self, split: str, step: int) -> Path:
        return self.path / "trajectories" / split / f"step_{step}.jsonl.zst"

    def trajectory_files(self, split: str) -> list[tuple[int, Path]]:
        """The steps that have one, oldest first."""
        found = (self.path / "trajectories" / split).glob("step_*.jsonl.zst")
        return sorted((int(path.name.removeprefix("step_").partition(".")[0]), path) for path in found)

    @property
    def templates(self) -> Path:
        return self.path / "templates"

    def write_config(self, config: RunConfig) -> None:
        write_json(self.path / "config.json", config.model_dump(mode="json"))


def _takes(lock: TextIO, *, seconds: float) -> bool:
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
    """Replaces `path` in one move: a reader sees the old file or the new one, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(data, indent=1))
    temporary.replace(path)


class EventLog:
    """Appends events to `events.jsonl`, numbering on from what is there. A torn last line is cut off first."""

    def __init__(self, path: Path, *, attempt: int, epoch: int, sinks: list[Sink] | None = None) -> None:
        self.attempt = attempt
        self.epoch = epoch
        self.sinks = sinks or []
        self.seq = _mend(path)
        self.step = 0  # of the newest event since this log was opened
        self._file = path.open("ab", buffering=0)
        self._turn = threading.Lock()  # rollouts that are ahead speak from a thread of their own

    def emit(self, event: Event) -> Event:
        """Stamps the event and appends it; returns it as recorded.

        `OSError` if it cannot be written, on a full disk for example; the file then has no part of it.
        """
        with self._turn:
            recorded = event.stamped(seq=self.seq + 1, time=time.time(), attempt=self.attempt, epoch=self.epoch)
            self._append(recorded.model_dump_json().encode() + b"\n")
            self.seq, self.step = recorded.seq, recorded.step
            for sink in self.sinks:
                sink(recorded)
            return recorded

    def _append(self, line: bytes) -> None:
        """All of it or nothing: the next event must not be glued to a part of this one."""
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]  # what a disk with little room takes may be a part
        except OSError:
            self._file.truncate(before)
            raise

    def close(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()


def _mend(path: Path) -> int:
    """Cuts a line that was never finished; returns the `seq` of the last line that is an event, 0 if none is."""
    if not path.exists():
        return 0
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return next((seq for line in reversed(whole.splitlines()) if (seq := _seq_of(line)) is not None), 0)


def _seq_of(line: bytes) -> int | None:
    """None for a damaged line, which readers pass over."""
    try:
        return EVENT.validate_json(line).seq
    except ValidationError:
        return None
