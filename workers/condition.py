"""The condition of a run's engine, assessed from its process, heartbeat and progress.

Silence never proves that an engine has ended: *crashed* is decided elsewhere, with proof.

process   heartbeat   progress   condition
alive     fresh       fresh      healthy
alive     fresh       old        stalled
alive     old         any        stalled (suspended, or blocked in native code)
unknown   fresh       any        healthy
unknown   old         any        lost
gone      any         any        ended

Where its disk is full, an engine waits for room: it is stalled, whatever its heartbeat, which needs room too.
"""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from engine.disk_room import LEAST_FREE
from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers.limits import Limits
from workers.process import Liveness

MEDIAN_OVER_STEPS = 20


class Condition(Enum):
    HEALTHY = "healthy"
    STALLED = "stalled"
    LOST = "lost"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    liveness: Liveness
    beat_age: float
    progress_age: float
    state: str
    progress_limit: float
    disk_full: bool = False  # of the run directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    condition: Condition
    reason: str = ""
    remedy: str = ""


def assess(evidence: Evidence, limits: Limits) -> Assessment:
    if evidence.liveness is Liveness.GONE:
        return Assessment(condition=Condition.ENDED)
    if evidence.disk_full and evidence.progress_age > limits.disk_full:
        return _no_room(evidence)
    silent = evidence.beat_age > limits.silent
    if evidence.liveness is Liveness.UNKNOWN:
        return _lost(evidence) if silent else Assessment(condition=Condition.HEALTHY)
    if silent:
        return _no_heartbeat(evidence)
    if evidence.state != RunState.PAUSED and evidence.progress_age > evidence.progress_limit:
        return _no_progress(evidence)
    return Assessment(condition=Condition.HEALTHY)


def _lost(evidence: Evidence) -> Assessment:
    return Assessment(
        condition=Condition.LOST,
        reason=f"The engine runs on another machine and has sent no heartbeat for {_ago(evidence.beat_age)}.",
        remedy="If that machine will not come back, stop the run and resume it here from its newest checkpoint.",
    )


def _no_room(evidence: Evidence) -> Assessment:
    return Assessment(
        condition=Condition.STALLED,
        reason="The disk of the run directory is full, and the engine has made no progress for "
        f"{_ago(evidence.progress_age)}: it waits for room.",
        remedy="Free space on that disk: the run then continues by itself.",
    )


def _no_heartbeat(evidence: Evidence) -> Assessment:
    return Assessment(
        condition=Condition.STALLED,
        reason=f"The engine's process exists but has sent no heartbeat for {_ago(evidence.beat_age)}: "
        "it is suspended, or blocked in native code.",
        remedy="Wait if a long native call is expected; otherwise stop the run and resume it from a checkpoint.",
    )


def _no_progress(evidence: Evidence) -> Assessment:
    return Assessment(
        condition=Condition.STALLED,
        reason=f"The engine sends heartbeats but has made no progress for {_ago(evidence.progress_age)}.",
        remedy="Read the end of its log: an environment or a download may hang. If so, stop and resume the run.",
    )


def _ago(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def progress_limit(run: Run, limits: Limits) -> float:
    """Before the first event the limit for starting; then ten median steps, but at least five minutes."""
    if run.state == RunState.STARTING:
        return limits.starting
    recent = run.steps.order_by("-step").values_list("metrics", flat=True)[:MEDIAN_OVER_STEPS]
    times = [metrics["time/step"] for metrics in recent if "time/step" in metrics]
    return max(limits.stalled, 10 * statistics.median(times)) if times else limits.stalled


def is_full(directory: Path) -> bool:
    try:
        return shutil.disk_usage(directory).free < LEAST_FREE
    except OSError:
        return False


class AssessmentTimer:
    """When to assess the engine. After a gap in the supervisor's own rounds it skips two periods: the supervisor may
    have been suspended, and the engine's heartbeats unread."""

    def __init__(self, period: float) -> None:
        self.period = period
        self.last = time.monotonic()
        self.rounds = 0

    def is_due(self) -> bool:
        """True once per period, except in skipped ones."""
        gap = time.monotonic() - self.last
        if gap < self.period:
            return False
        self.last += gap
        if gap > 2 * self.period:
            self.rounds = 2
        if self.rounds:
            self.rounds -= 1
            return False
        return True

    def pause(self) -> None:
        """Skips two periods. To be called after an outage of the database."""
        self.rounds = 2
