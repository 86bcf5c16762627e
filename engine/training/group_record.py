"""The event of a step's groups: their problems, returns and scores, and which of them were trained on."""

from __future__ import annotations

import numpy as np

from engine.algorithms.filters import FilterBase
from engine.events import GroupsFiltered
from engine.rollout.types import Trajectory
from engine.training.group_filter import Kept
from engine.training.rollout_metrics import group_stds

MOST_RETURNS = 8192
MAX_FLOAT32 = 3.4e38  # NaN is not below it either


def group_record(step: int, trajectories: list[Trajectory], kept: Kept, group_filter: FilterBase) -> GroupsFiltered:
    """All groups that `step` sampled, and which of them the filter kept."""
    members: dict[int, list[Trajectory]] = {}
    for trajectory in trajectories:
        members.setdefault(trajectory.group, []).append(trajectory)
    numbers = sorted(members)
    tags = list(dict.fromkeys(members[number][0].environment for number in numbers))
    stds = group_stds(trajectories)
    return GroupsFiltered(
        step=step,
        tags=tags,
        groups=numbers,
        environments=[tags.index(members[number][0].environment) for number in numbers],
        seeds=[members[number][0].seed for number in numbers],
        returns=_returns([members[number] for number in numbers]),
        stds=[_single(stds.get(number)) for number in numbers],
        scores=[_single(kept.scores.get(number)) for number in numbers],
        kept=[numbers.index(number) for number in sorted(kept.groups)],
        threshold=_single(kept.metrics.get("filter/threshold", 0.0)) or 0.0,
        filter=group_filter.model_dump(mode="json"),
    )


def _returns(groups: list[list[Trajectory]]) -> list[list[float | None]]:
    """Each group's returns by member; empty for the groups after the limit is reached."""
    total, found = 0, []
    for group in groups:
        row = _row(group) if total < MOST_RETURNS else []
        total += len(row)
        found.append(row)
    return found


def _row(group: list[Trajectory]) -> list[float | None]:
    row: list[float | None] = [None] * (1 + max(trajectory.member for trajectory in group))
    for trajectory in group:
        if trajectory.has_outcome:
            row[trajectory.member] = _single(trajectory.raw_return)
    return row


def _single(value: float | None) -> float | None:
    """The shortest decimal of the float32; None for None, NaN and infinity."""
    return float(str(np.float32(value))) if value is not None and abs(value) < MAX_FLOAT32 else None
