"""What the capture budget and the retention of a run kept of its trajectories, from its events and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from engine.config import CaptureConfig
from engine.events import TrajectoriesRecorded
from webapp.runs.models import Run
from webapp.runs.recorded_events import newest_first
from webapp.trajectories.models import Trajectory

WORDS = {
    "best": "the best",
    "worst": "the worst",
    "fault": "with a fault of the environment",
    "parse_failure": "with an unparsed response",
    "zero_variance": "for groups of equal returns",
    "group": "to make such groups whole",
    "sample": "by lot",
}
MOST_EVENTS = 2000  # newest recorded steps that are summed up; a longer run says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Of the recorded steps that are looked at. `reasons` are words and counts."""

    kept: int
    dropped: int
    reasons: list[tuple[str, int]]
    removed: int
    step: int | None
    newest_only: int  # so many of the newest steps, or 0 for all

    @property
    def sampled(self) -> int:
        return self.kept + self.dropped


def captured(run: Run, step: int | None = None) -> Captured | None:
    """Of one step, or of all; None where nothing was dropped or removed, so that there is nothing to tell."""
    found = list(islice(_recordings(run, step), MOST_EVENTS + 1))
    counted = found[:MOST_EVENTS]
    dropped = sum(recorded.dropped for recorded in counted)
    rows = Trajectory.objects.filter(run=run, removed=True)
    removed = rows.filter(step=step).count() if step is not None else rows.count()
    if not dropped and not removed:
        return None
    reasons: Counter[str] = Counter()
    for recorded in counted:
        reasons.update(recorded.reasons)
    return Captured(
        kept=sum(recorded.count for recorded in counted),
        dropped=dropped,
        reasons=[(words, reasons[name]) for name, words in WORDS.items() if reasons[name]],
        removed=removed,
        step=step,
        newest_only=MOST_EVENTS if len(found) > MOST_EVENTS else 0,
    )


def retention_in_words(run: Run) -> str:
    """What the run's configuration keeps, for a page that misses something."""
    limits = CaptureConfig.model_validate(run.config.get("capture", {}))
    words = []
    if limits.keep_steps:
        words.append(f"the newest {limits.keep_steps} recorded steps")
    if limits.most_megabytes:
        words.append(f"at most {limits.most_megabytes} MB")
    return " and ".join(words)


def _recordings(run: Run, step: int | None) -> Iterator[TrajectoriesRecorded]:
    """Newest first, for each step and split its newest recording that still counts: a run that resumed from step 8
    has no step 9 until it has completed another."""
    only = {"step__lte": run.step} if step is None else {"step__lte": run.step, "step": step}
    seen: set[tuple[int, str]] = set()
    for recorded in newest_first(run, TrajectoriesRecorded, **only):
        if (recorded.step, recorded.split) not in seen:
            seen.add((recorded.step, recorded.split))
            yield recorded
