"""The engine of a supervisor, started or adopted, and the escalation that ends it."""

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
    """`child` exists only in the worker that started the engine: only that one learns the exit status."""

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


class Escalation:
    """Ends an engine in stages: the request, then SIGTERM, then SIGKILL. The sweep afterwards ends remaining
    processes."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.terminated_at: float | None = None
        self.killed = False

    @property
    def how(self) -> str:
        return "killed" if self.killed else "terminated" if self.terminated_at is not None else "by itself"

    def advance(self, engine: EngineHandle, *, stop_requests: int, overdue: bool) -> None:
        """The second of the `stop_requests` sends SIGTERM at once, the third SIGKILL. `overdue`: the grace period is
        over."""
        if not (overdue or stop_requests >= 2):
            return
        if self.terminated_at is None:
            self.terminated_at = time.monotonic()
            send_signal(engine.identity, signal.SIGTERM)
        elif stop_requests >= 3 or time.monotonic() - self.terminated_at > self.limits.term_grace:
            self.killed = True
            send_signal(engine.identity, signal.SIGKILL)
