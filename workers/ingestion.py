"""How much this worker has stored, and how far it is behind the engines whose runs it supervises."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Behind:
    """Of one run: events that its engine has recorded and that are not in rows, and for how long."""

    events: int = 0
    seconds: float = 0.0


class Ingestion:
    """Written by the threads of supervisors, read by the one that announces the worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored = 0
        self._behind: dict[str, Behind] = {}

    def stored(self, events: int) -> None:
        with self._lock:
            self._stored += events

    def observe(self, run_id: str, behind: Behind) -> None:
        with self._lock:
            self._behind[run_id] = behind

    def forget(self, run_id: str) -> None:
        with self._lock:
            self._behind.pop(run_id, None)

    def facts(self) -> dict[str, float]:
        with self._lock:
            behind = list(self._behind.values())
            return {
                "supervised_runs": len(behind),
                "events_stored": self._stored,
                "lag_events": sum(one.events for one in behind),
                "lag_seconds": max((one.seconds for one in behind), default=0.0),
            }


of_this_worker = Ingestion()
