"""The verdict of the run that is trained: kept up to date from its own events, and recorded when it changes."""

from __future__ import annotations

from engine.config import RunConfig
from engine.events import VerdictUpdated
from engine.training.run_directory import EventLog, RunDirectory
from engine.verdict.assessor import Settings
from engine.verdict.recorded import assessor_after
from engine.verdict.types import Verdict


class RunVerdict:
    """Rebuilt from `events.jsonl` when a run resumes, so it is exactly what `engine assess` computes afterwards."""

    def __init__(self, config: RunConfig, directory: RunDirectory, events: EventLog) -> None:
        self.events = events
        self.assessor = assessor_after(directory.events, Settings.of(config))
        self.reported: Verdict | None = None
        events.sinks.append(self.assessor.observe)

    def report(self) -> None:
        """Emits the verdict if it, or a number behind it, is not what was reported last."""
        verdict = self.assessor.verdict()
        if verdict is not None and verdict != self.reported:
            self.reported = verdict
            self.events.emit(VerdictUpdated(step=verdict.step, verdict=verdict))

    def end(self, rule: str) -> None:
        """What is true of a run that continues may not be true of one that is over; `rule` ended it, if one did."""
        self.assessor.end(rule)
        self.report()
