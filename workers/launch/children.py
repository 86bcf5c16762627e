"""The processes that the launcher starts and watches, each in a session of its own so that Ctrl-C reaches only us."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

LARGEST_LOG = 5_000_000
RESTARTS, RESTART_WINDOW = 3, 60.0
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """One process, its log, and the times of its starts."""

    name: str
    command: list[str]
    log: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    starts: deque[float] = field(default_factory=lambda: deque(maxlen=RESTARTS))

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LARGEST_LOG:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.starts.append(time.monotonic())
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def ends_too_often(self) -> bool:
        return len(self.starts) == RESTARTS and time.monotonic() - self.starts[0] < RESTART_WINDOW

    def stop(self, seconds: float) -> None:
        """SIGTERM, then after `seconds` SIGKILL to the remaining processes of its session."""
        if self.process is None or self.has_ended():
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def last_lines(self, count: int = 15) -> str:
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])


def end_with_parent() -> None:
    """Linux sends SIGTERM to the child when the launcher ends, for whatever reason."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    except (OSError, AttributeError):
        return  # not Linux: an orderly stop still works
