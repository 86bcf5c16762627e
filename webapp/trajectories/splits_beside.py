"""Which training and held-out trajectories are laid side by side: the best, the median and the worst of each."""

from __future__ import annotations

from itertools import zip_longest

from django.db.models import QuerySet

from webapp.trajectories.models import Trajectory


def splits_beside(rows: QuerySet[Trajectory]) -> list[int]:
    """Ids by return, best first, training before held-out; none where a split has nothing that can be read."""
    readable = rows.filter(removed=False).order_by("-episode_return", "group", "member")
    training, held_out = (_three_of(readable.filter(split=split)) for split in ("train", "validation"))
    if not training or not held_out:
        return []
    return [key for pair in zip_longest(training, held_out) for key in pair if key is not None]


def of_step_of(trajectory: Trajectory) -> list[int]:
    """Of the same step and environment."""
    same = {"step": trajectory.step, "environment": trajectory.environment}
    return splits_beside(Trajectory.objects.filter(run=trajectory.run_id, **same))


def _three_of(ordered: QuerySet[Trajectory]) -> list[int]:
    keys = list(ordered.values_list("pk", flat=True))
    return [keys[place] for place in sorted({0, len(keys) // 2, len(keys) - 1})] if keys else []
