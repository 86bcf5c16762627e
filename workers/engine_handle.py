"""The engine of a supervisor, started or adopted, and the escalation that ends it."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path

from workers.engine_process import report_of
from workers.limits import Limits
from workers.process import Identity, Liveness, Sweep, liveness, send_signal, sweep


@dataclass(frozen=True, slots=True)
class EngineHandle:
    identity: Identity
    run_dir: Path

    @property
    def lock(self) -> Path:
        """The file that the engine locks for as long as it lives."""
        return self.run_dir / "lock"

    def liveness(self) -> Liveness:
        return liveness(self.identity, self.lock)

    def exit_status(self) -> int | None:
        """None until its keeper has reported it; forever, if the keeper was killed."""
        report = report_of(self.run_dir, self.identity.cookie)
        return report.status if report is not None else None


def sweep_run(cookie: str, run_dir: Path, *, seconds: float, begun: bool, machine_gone: bool = False) -> Sweep:
    """Ends all processes of the run. `begun`: its engine has; so that a keeper must report that none is left, unless
    they are gone with their machine."""
    found = sweep(cookie, seconds=seconds)
    report = report_of(run_dir, cookie)
    killed = {*found.killed, *(report.killed if report else [])}
    return Sweep(killed=sorted(killed), left=found.left, unwatched=begun and report is None and not machine_gone)


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
