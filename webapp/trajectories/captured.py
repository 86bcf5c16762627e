"""How many of a run's trajectories its capture budget and retention kept, from its events and rows."""

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

LABELS = {
    "best": "the best",
    "worst": "the worst",
    "fault": "with an environment failure",
    "parse_failure": "with a malformed response",
    "zero_variance": "from groups with equal returns",
    "group": "to complete such groups",
    "sample": "at random",
}
MOST_EVENTS = 2000  # newest recorded steps that are summed; the page says so for longer runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Of the recorded steps. `reasons` are labels and counts."""

    kept: int
    dropped: int
    reasons: list[tuple[str, int]]
    removed: int
    step: int | None
    newest_only: int  # number of newest steps, or 0 for all

    @property
    def sampled(self) -> int:
        return self.kept + self.dropped


def captured(run: Run, step: int | None = None) -> Captured | None:
    """Of one step, or of all; None if nothing was dropped or removed."""
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
        reasons=[(label, reasons[name]) for name, label in LABELS.items() if reasons[name]],
        removed=removed,
        step=step,
        newest_only=MOST_EVENTS if len(found) > MOST_EVENTS else 0,
    )


def describe_retention(run: Run) -> str:
    """What the run's configuration keeps."""
    limits = CaptureConfig.model_validate(run.config.get("capture", {}))
    parts = []
    if limits.keep_steps:
        parts.append(f"the newest {limits.keep_steps} recorded steps")
    if limits.most_megabytes:
        parts.append(f"at most {limits.most_megabytes} MB")
    return " and ".join(parts)


def _recordings(run: Run, step: int | None) -> Iterator[TrajectoriesRecorded]:
    """Newest first, for each step and split its newest recording that still counts: a run that resumed from step 8
    has no step 9 until it has completed another."""
    only = {"step__lte": run.step} if step is None else {"step__lte": run.step, "step": step}
    seen: set[tuple[int, str]] = set()
    for recorded in newest_first(run, TrajectoriesRecorded, **only):
        if (recorded.step, recorded.split) not in seen:
            seen.add((recorded.step, recorded.split))
            yield recorded
