"""The groups of one step, and what another filter would have kept of them and of all steps."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from engine.algorithms.filters import FilterBase, filter_from, threshold_of
from webapp.runs.models import Run, StepGroups

MOST_STEPS = 400  # for which a choice is made again; of longer runs every so manieth


def filter_of(run: Run, row: StepGroups | None) -> FilterBase:
    """The filter at a step, which may change while a run is in progress; without a step, the one it began with."""
    recorded: dict[str, Any] = row.detail.get("filter", {}) if row else {}
    return filter_from(recorded or run.config.get("filter") or {"type": "none"})


def choose_again(row: StepGroups, chosen: FilterBase) -> tuple[list[int], float]:
    """Indices of the groups that a filter keeps of a step, and its threshold.

    The scores are those the engine's filter saw, float32, so that the run's own settings lead to its own choice. A
    group without a score was no candidate then, and is none now.
    """
    candidates = [index for index, score in enumerate(row.scores) if score is not None]
    scores = [float(np.float32(row.scores[index])) for index in candidates]
    kept = chosen.choose(scores)
    return [candidates[index] for index in kept], threshold_of(scores, kept, largest=chosen.prefers_largest)


def groups_of(row: StepGroups) -> list[dict[str, Any]]:
    """Each group of a step: its problem, its members' returns, its score, whether it trained.

    `trajectories` holds the key of each member's recorded trajectory, None where none was recorded.
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
            "environment": detail["tags"][detail["environments"][place]],
            "seed": detail["seeds"][place],
            "returns": detail["returns"][place],
            "spread": detail["stds"][place],
            "score": row.scores[place],
            "kept": place in kept,
            "trajectories": [recorded.get((number, member)) for member in range(len(detail["returns"][place]))],
        }
        for place, number in enumerate(detail["groups"])
    ]


class Shares(TypedDict):
    """Columns of equal length, a place for each step shown: share of groups kept in fact and by the choice."""

    steps: list[int]
    kept: list[float]
    chosen: list[float]
    every: int


def shares(run: Run, chosen: FilterBase) -> Shares:
    """Of at most 400 steps, evenly taken, the newest always among them."""
    steps = list(run.groups.order_by("step").values_list("step", flat=True))
    every = max(1, -(-len(steps) // MOST_STEPS))
    wanted = steps[::-1][::every][::-1]
    rows = run.groups.filter(step__in=wanted).order_by("step").only("step", "scores", "kept")
    found = Shares(steps=[], kept=[], chosen=[], every=every)
    for row in rows:
        count = max(1, sum(score is not None for score in row.scores))
        found["steps"].append(row.step)
        found["kept"].append(len(row.kept) / count)
        found["chosen"].append(len(choose_again(row, chosen)[0]) / count)
    return found
