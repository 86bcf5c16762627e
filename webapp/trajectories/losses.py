"""Recorded trajectories that cannot be read: which ones, in which file, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webapp.projects.access import readable
from webapp.trajectories.filters import Filters
from webapp.trajectories.models import LostTrajectory, Trajectory

MOST = 500  # rows that a page reads
CONDITIONS = ("step", "step_low", "step_high", "split", "group", "environment")


@dataclass(slots=True)
class LostInFile:
    """The lost trajectories of one file: `named` are those in its index, `others` the number of those that are not."""

    run_id: str
    file: str
    step: int
    split: str
    remedy: str
    reasons: list[str] = field(default_factory=list)
    named: list[LostTrajectory] = field(default_factory=list)
    others: int = 0

    @property
    def count(self) -> int:
        return len(self.named) + self.others


def lost_by_file(filters: Filters, run_ids: Sequence[str]) -> list[LostInFile]:
    """By file, newest step first, for the steps, split, group and environment in the filters."""
    conditions = [condition for name, condition in filters.conditions.items() if name in CONDITIONS]
    files: dict[tuple[str, str], LostInFile] = {}
    for row in readable(LostTrajectory.objects.filter(*conditions, run__in=run_ids))[:MOST]:
        lost = files.setdefault(
            (row.run_id, row.file),
            LostInFile(run_id=row.run_id, file=row.file, step=row.step, split=row.split, remedy=row.remedy),
        )
        if row.why not in lost.reasons:
            lost.reasons.append(row.why)
        if row.member is None:
            lost.others += row.count
        else:
            lost.named.append(row)
    return list(files.values())


def lost_members(trajectory: Trajectory) -> list[LostTrajectory]:
    """The lost members of its group."""
    return list(
        LostTrajectory.objects.filter(
            run=trajectory.run_id,
            step=trajectory.step,
            split=trajectory.split,
            environment=trajectory.environment,
            group=trajectory.group,
        ).order_by("member")
    )
