"""Training and held-out trajectories to compare: the best, the median and the worst of each."""

from __future__ import annotations

from itertools import zip_longest

from django.db.models import QuerySet

from webapp.trajectories.models import Trajectory


def split_comparison(rows: QuerySet[Trajectory]) -> list[int]:
    """Ids by return, best first, training before held-out; none if a split has nothing readable."""
    readable = rows.filter(removed=False).order_by("-episode_return", "group", "member")
    training, held_out = (_three_of(readable.filter(split=split)) for split in ("train", "validation"))
    if not training or not held_out:
        return []
    return [key for pair in zip_longest(training, held_out) for key in pair if key is not None]


def of_step_of(trajectory: Trajectory) -> list[int]:
    """Of the same step and environment."""
    same = {"step": trajectory.step, "environment": trajectory.environment}
    return split_comparison(Trajectory.objects.filter(run=trajectory.run_id, **same))


def _three_of(ordered: QuerySet[Trajectory]) -> list[int]:
    keys = list(ordered.values_list("pk", flat=True))
    return [keys[index] for index in sorted({0, len(keys) // 2, len(keys) - 1})] if keys else []
