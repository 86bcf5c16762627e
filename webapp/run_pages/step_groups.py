"""The groups of a step, and a preview of what another filter would have kept of them and of all steps."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from engine.algorithms.group_choice import choose_groups, threshold_of

from engine.config import FilterConfig
from webapp.runs.models import Run, StepGroups

MOST_STEPS = 400  # previewed; longer runs are sampled evenly


class Choice(TypedDict):
    """The arguments of `choose_groups`."""

    strategy: Any
    value: float
    mode: Any
    largest: bool
    include_zero: bool
    epsilon: float


def filter_of(run: Run, row: StepGroups | None) -> dict[str, Any]:
    """The filter's settings at a step, since they can change during a run; without a step, those at launch."""
    known: dict[str, Any] = row.detail.get("filter", {}) if row else {}
    return known or {**FilterConfig().model_dump(mode="json"), **run.config.get("filter", {})}


def own_choice(run: Run, row: StepGroups | None) -> Choice:
    """The settings from `filter_of` that decide which scores are kept."""
    found = filter_of(run, row)
    return Choice(
        strategy=found["strategy"],
        value=found["value"],
        mode=found["mode"],
        largest=found["largest"],
        include_zero=found["include_zero"],
        epsilon=found["epsilon"],
    )


def apply_choice(row: StepGroups, choice: Choice) -> tuple[list[int], float]:
    """Indices of the groups of a step that `choice` keeps, and its threshold.

    Scores are rounded to float32, as in the engine, so that the run's own settings reproduce its own choice. Groups
    without a score were not candidates and are not considered.
    """
    candidates = [index for index, score in enumerate(row.scores) if score is not None]
    scores = [float(np.float32(row.scores[index])) for index in candidates]
    kept = choose_groups(scores, **choice)
    return [candidates[index] for index in kept], threshold_of(scores, kept, largest=choice["largest"])


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


def shares(run: Run, choice: Choice) -> Shares:
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
        found["chosen"].append(len(apply_choice(row, choice)[0]) / count)
    return found
