"""What could not be read of what runs recorded: which trajectories, of which shard, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webapp.trajectories.filters import Filters
from webapp.trajectories.models import LostTrajectory, Trajectory

MOST = 500  # rows that a page looks at
PLACES = ("step", "step_low", "step_high", "split", "group", "environment")


@dataclass(slots=True)
class LostShard:
    """The lost of one shard of a run; `named` are those that its contents name, `others` how many they do not."""

    run_id: str
    shard: str
    step: int
    split: str
    remedy: str
    reasons: list[str] = field(default_factory=list)
    named: list[LostTrajectory] = field(default_factory=list)
    others: int = 0

    @property
    def count(self) -> int:
        return len(self.named) + self.others


def lost_shards(filters: Filters, run_ids: Sequence[str]) -> list[LostShard]:
    """By shard, newest step first; of the steps, split, group and environment that the filters name."""
    places = [condition for name, condition in filters.conditions.items() if name in PLACES]
    shards: dict[tuple[str, str], LostShard] = {}
    for row in LostTrajectory.objects.filter(*places, run__in=run_ids)[:MOST]:
        shard = shards.setdefault(
            (row.run_id, row.shard),
            LostShard(run_id=row.run_id, shard=row.shard, step=row.step, split=row.split, remedy=row.remedy),
        )
        if row.why not in shard.reasons:
            shard.reasons.append(row.why)
        if row.member is None:
            shard.others += row.count
        else:
            shard.named.append(row)
    return list(shards.values())


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
