"""The groups of one step, and what another filter would have kept of them and of all steps."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from engine.algorithms.group_choice import choose_groups, threshold_of

from engine.config import FilterConfig
from webapp.runs.models import Run, StepGroups

MOST_STEPS = 400  # for which a choice is made again; of longer runs every so manieth


class Choice(TypedDict):
    """A filter's settings, as `choose_groups` takes them."""

    strategy: Any
    value: float
    mode: Any
    largest: bool
    include_zero: bool
    epsilon: float


def filter_of(run: Run, row: StepGroups | None) -> dict[str, Any]:
    """The filter's settings at a step, which a run may change while it goes on; with no step, those it began with."""
    known: dict[str, Any] = row.detail.get("filter", {}) if row else {}
    return known or {**FilterConfig().model_dump(mode="json"), **run.config.get("filter", {})}


def own_choice(run: Run, row: StepGroups | None) -> Choice:
    """The part of `filter_of` that says what is kept of given scores."""
    found = filter_of(run, row)
    return Choice(
        strategy=found["strategy"],
        value=found["value"],
        mode=found["mode"],
        largest=found["largest"],
        include_zero=found["include_zero"],
        epsilon=found["epsilon"],
    )


def choose_again(row: StepGroups, choice: Choice) -> tuple[list[int], float]:
    """Places of the groups that `choice` keeps of a step, and its threshold.

    The scores are those the engine's filter saw, float32, so that the run's own settings lead to its own choice. A
    group without a score was no candidate then, and is none now.
    """
    places = [place for place, score in enumerate(row.scores) if score is not None]
    scores = [float(np.float32(row.scores[place])) for place in places]
    kept = choose_groups(scores, **choice)
    return [places[index] for index in kept], threshold_of(scores, kept, largest=choice["largest"])


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


def shares(run: Run, choice: Choice) -> Shares:
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
        found["chosen"].append(len(choose_again(row, choice)[0]) / count)
    return found
