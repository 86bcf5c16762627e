"""What to think of a run from the evidence. Silence is never taken for death: *crashed* is decided elsewhere, by proof.

process   beat    progress   verdict
alive     fresh   fresh      well
alive     fresh   old        stalled
alive     old     any        stalled (stopped, or held in native code)
unseen    fresh   any        well
unseen    old     any        lost
gone      any     any        ended
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from enum import Enum

from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers.limits import Limits
from workers.process import Liveness

MEDIAN_OVER_STEPS = 20


class Verdict(Enum):
    WELL = "well"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    verdict: Verdict
    reason: str = ""
    remedy: str = ""


def judge(evidence: Evidence, limits: Limits) -> Judgement:
    if evidence.liveness is Liveness.GONE:
        return Judgement(verdict=Verdict.ENDED)
    silent = evidence.beat_age > limits.silent
    if evidence.liveness is Liveness.UNKNOWN:
        return _lost(evidence) if silent else Judgement(verdict=Verdict.WELL)
    if silent:
        return _not_beating(evidence)
    if evidence.state != RunState.PAUSED and evidence.progress_age > evidence.progress_limit:
        return _not_moving(evidence)
    return Judgement(verdict=Verdict.WELL)


def _lost(evidence: Evidence) -> Judgement:
    return Judgement(
        verdict=Verdict.LOST,
        reason=f"The engine runs on another machine and has not been heard for {_ago(evidence.beat_age)}.",
        remedy="If that machine is gone for good, stop the run and resume it here from its newest checkpoint.",
    )


def _not_beating(evidence: Evidence) -> Judgement:
    return Judgement(
        verdict=Verdict.STALLED,
        reason=f"The engine's process is there but has not beaten for {_ago(evidence.beat_age)}: "
        "it is suspended, or held in native code.",
        remedy="Wait if a long native call is expected; else stop the run and resume it from its newest checkpoint.",
    )


def _not_moving(evidence: Evidence) -> Judgement:
    return Judgement(
        verdict=Verdict.STALLED,
        reason=f"The engine beats but has not got further for {_ago(evidence.progress_age)}.",
        remedy="Read the end of its log; an environment or a download may hang. Stop and resume if it stays so.",
    )


def _ago(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def progress_limit(run: Run, limits: Limits) -> float:
    """Before the first event the limit of starting; then ten median steps, but never less than five minutes."""
    if run.state == RunState.STARTING:
        return limits.starting
    recent = run.steps.order_by("-step").values_list("metrics", flat=True)[:MEDIAN_OVER_STEPS]
    times = [metrics["time/step"] for metrics in recent if "time/step" in metrics]
    return max(limits.stalled, 10 * statistics.median(times)) if times else limits.stalled


class Doubt:
    """Doubts the watcher before the watched: after a gap of our own, two rounds pass without a verdict."""

    def __init__(self, period: float) -> None:
        self.period = period
        self.last = time.monotonic()
        self.rounds = 0

    def is_due(self) -> bool:
        """Once a period; False while in doubt."""
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

    def begin(self) -> None:
        """To be called after an outage of the database."""
        self.rounds = 2
