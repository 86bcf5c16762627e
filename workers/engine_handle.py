"""The engine that a supervisor watches: one that it started, or one that it adopted. And the ladder that ends it."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from workers.limits import Limits
from workers.process import Identity, Liveness, identify, liveness, send_signal


@dataclass(slots=True)
class EngineHandle:
    """`child` is there only in the worker that started the engine: it alone learns the exit status."""

    identity: Identity
    lock: Path
    child: subprocess.Popen[bytes] | None = None

    def liveness(self) -> Liveness:
        if self.child is not None:
            return Liveness.ALIVE if self.child.poll() is None else Liveness.GONE
        return liveness(self.identity, self.lock)

    def exit_status(self) -> int | None:
        return self.child.poll() if self.child is not None else None


def handle_of_child(child: subprocess.Popen[bytes], cookie: str, lock: Path) -> EngineHandle:
    # a child that has ended already is a zombie until `poll`: it keeps its pid but has no other identity
    identity = identify(child.pid, cookie) or Identity(pid=child.pid, start_time=0, boot_id="", host="", cookie=cookie)
    return EngineHandle(identity=identity, lock=lock, child=child)


class Ladder:
    """Ends an engine in stages: it was asked; then SIGTERM; then SIGKILL. The sweep afterwards takes what is left."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.terminated_at: float | None = None
        self.killed = False

    @property
    def how(self) -> str:
        return "killed" if self.killed else "terminated" if self.terminated_at is not None else "by itself"

    def climb(self, engine: EngineHandle, *, presses: int, overdue: bool) -> None:
        """`presses` of stop: the second terminates at once, the third kills. `overdue`: its grace is over."""
        if not (overdue or presses >= 2):
            return
        if self.terminated_at is None:
            self.terminated_at = time.monotonic()
            send_signal(engine.identity, signal.SIGTERM)
        elif presses >= 3 or time.monotonic() - self.terminated_at > self.limits.term_grace:
            self.killed = True
            send_signal(engine.identity, signal.SIGKILL)
