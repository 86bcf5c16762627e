"""The processes that the launcher starts and watches, each in a session of its own so that Ctrl-C reaches only us."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workers.launch.watch import Watch
from workers.stacks import STACKS

LARGEST_LOG = 5_000_000
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before a restart; each is twice the one before
STEADY = 60.0  # seconds that a process has to live before its pauses begin at the first one
FROZEN = 30.0  # seconds that a process may be suspended
STACK_SECONDS = 1.0  # for a process to write its stacks
KILL_SECONDS = 1.0  # for the kernel to end a process; one that waits for a disk ends later
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """One process, its log, and when it is restarted. Pauses grow while it keeps ending, so that a process that cannot
    run costs little, and the others go on."""

    name: str
    command: list[str]
    log: Path
    environment: dict[str, str]
    watch: Watch | None = None
    writes_stacks: bool = False  # on the signal `STACKS`
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause: float = FIRST_PAUSE  # before the next restart
    restart_at: float | None = None  # of one that has ended
    suspended_since: float | None = None
    killed_at: float | None = None  # or will be

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LARGEST_LOG:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.started_at, self.restart_at, self.suspended_since, self.killed_at = time.monotonic(), None, None, None
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
        if self.watch is not None:
            self.watch.begin(self.process.pid, self.started_at)

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def plan_restart(self, now: float) -> float:
        """The seconds until its restart, from `now` on."""
        if now - self.started_at > STEADY:
            self.pause = FIRST_PAUSE
        pause, self.pause = self.pause, min(2 * self.pause, LONGEST_PAUSE)
        self.restart_at = now + pause
        return pause

    def is_frozen(self, now: float, *, seconds: float = FROZEN) -> bool:
        """Suspended (SIGSTOP, or a debugger) for so long that nobody can be waiting for it to go on."""
        if self.process is None or not _is_suspended(self.process.pid):
            self.suspended_since = None
            return False
        if self.suspended_since is None:
            self.suspended_since = now
        return now - self.suspended_since >= seconds

    def hangs(self, now: float) -> bool:
        """It is alive, and has not answered for too long."""
        return self.watch is not None and self.watch.is_unresponsive(now)

    def kill_soon(self, now: float) -> None:
        """After it has written its stacks."""
        if self.writes_stacks and self.process is not None:
            self.process.send_signal(STACKS)
        self.killed_at = now + (STACK_SECONDS if self.writes_stacks else 0.0)

    def kill(self) -> None:
        """Its whole session, at once."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(KILL_SECONDS)

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


def _is_suspended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):
        return False


_libc = ctypes.CDLL(None)  # loaded before any thread is started: between fork and exec, a lock may be held by nobody


def end_with_parent() -> None:
    """Linux sends SIGTERM to the child when the launcher ends, for whatever reason."""
    with suppress(AttributeError):  # not Linux: an orderly stop still works
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
