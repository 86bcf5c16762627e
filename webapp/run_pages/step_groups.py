"""The groups of a step, and a preview of what another filter would have kept of them and of all steps."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from engine.algorithms.filters import FilterBase, filter_from, threshold_of
from webapp.runs.models import Run, StepGroups

MOST_STEPS = 400  # previewed; longer runs are sampled evenly


def filter_of(run: Run, row: StepGroups | None) -> FilterBase:
    """The filter at a step, which can change during a run; without a step, the one at launch."""
    recorded: dict[str, Any] = row.detail.get("filter", {}) if row else {}
    return filter_from(recorded or run.config.get("filter") or {"type": "none"})


def apply_choice(row: StepGroups, chosen: FilterBase) -> tuple[list[int], float]:
    """Indices of the groups that a filter keeps of a step, and its threshold.

    Scores are rounded to float32, as in the engine, so that the run's own settings reproduce its own choice. Groups
    without a score were not candidates and are not considered.
    """
    candidates = [index for index, score in enumerate(row.scores) if score is not None]
    scores = [float(np.float32(row.scores[index])) for index in candidates]
    kept = chosen.choose(scores)
    return [candidates[index] for index in kept], threshold_of(scores, kept, largest=chosen.prefers_largest)


def groups_of(row: StepGroups) -> list[dict[str, Any]]:
    """Each group of a step: its problem, the returns of its members, its score, and whether it was kept.

    `trajectories` has the key of each member's recorded trajectory, or None.
    """
    detail, kept = row.detail, set(row.kept)
    recorded = {
        (group, member): key
        for key, group, member in row.run.trajectories.filter(step=row.step, split="train").values_list(
            "pk", "group", "member"
        )
    }
    return [
        {
            "group": number,
            "environment": detail["tags"][detail["environments"][index]],
            "seed": detail["seeds"][index],
            "returns": detail["returns"][index],
            "std": detail["stds"][index],
            "score": row.scores[index],
            "kept": index in kept,
            "trajectories": [recorded.get((number, member)) for member in range(len(detail["returns"][index]))],
        }
        for index, number in enumerate(detail["groups"])
    ]


class Shares(TypedDict):
    """Columns with one entry per step: the share of groups that the run kept and that the choice would keep."""

    steps: list[int]
    kept: list[float]
    chosen: list[float]
    every: int


def shares(run: Run, chosen: FilterBase) -> Shares:
    """The shares for at most 400 evenly spaced steps, including the newest."""
    steps = list(run.groups.order_by("step").values_list("step", flat=True))
    every = max(1, -(-len(steps) // MOST_STEPS))
    wanted = steps[::-1][::every][::-1]
    rows = run.groups.filter(step__in=wanted).order_by("step").only("step", "scores", "kept")
    found = Shares(steps=[], kept=[], chosen=[], every=every)
    for row in rows:
        count = max(1, sum(score is not None for score in row.scores))
        found["steps"].append(row.step)
        found["kept"].append(len(row.kept) / count)
        found["chosen"].append(len(apply_choice(row, chosen)[0]) / count)
    return found
