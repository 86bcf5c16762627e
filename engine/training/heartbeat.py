"""The engine's heartbeat: a thread that writes its process and progress to a file every five seconds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.training.run_directory import write_json

PERIOD_SECONDS = 5.0


def process_start_time(pid: int) -> int:
    """Field 22 of `/proc/<pid>/stat`: clock ticks since boot, to distinguish a reused pid; 0 where there is no
    /proc."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Heartbeat:
    def __init__(self, path: Path, *, attempt: int, epoch: int, progress: Callable[[], dict[str, Any]]) -> None:
        self._path = path
        self._progress = progress
        self._fixed = {
            "pid": os.getpid(),
            "start_time": process_start_time(os.getpid()),
            "boot_id": boot_id(),
            "cookie": os.environ.get("STARBOARD_RUN", ""),
            "attempt": attempt,
            "epoch": epoch,
        }
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self.beat()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(timeout=PERIOD_SECONDS)

    def beat(self) -> None:
        write_json(self._path, {"time": time.time(), **self._fixed, **self._progress()})

    def _run(self) -> None:
        while not self._stopped.wait(PERIOD_SECONDS):
            try:
                self.beat()
            except OSError:  # a full disk must not end training; the supervisor notices a missing heartbeat
                continue
