"""Proposals of an adaptive search, made from what has been tried."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from engine.sweeps.adaptive import Tried, next_point
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import FIRST_POINTS, point_by_point, points_of

RATE = {"type": "range", "field": "optimizer.learning_rate", "low": 1e-5, "high": 1e-2, "scale": "log"}
GROUPS = {"type": "range", "field": "rollout.groups", "low": 2, "high": 64}
FILTER = {"type": "settings", "name": "Filter", "settings": [
    {"label": "none", "changes": {"filter.type": "none"}},
    {"label": "0.9", "changes": {"filter.type": "top_p", "filter.value": 0.9}},
]}  # fmt: skip
BASE: dict[str, Any] = {"optimizer": {"learning_rate": 1e-4}, "rollout": {"groups": 8}}


def plan(*axes: dict[str, Any], points: int = 30) -> SweepPlan:
    return SweepPlan.model_validate({"axes": axes, "method": "tpe", "points": points, "seeds": [1, 2]})


def search(given: SweepPlan, rounds: int) -> list[Tried]:
    """Best at a learning rate of 1e-3: one less for each power of ten away from it."""
    tried: list[Tried] = []
    first = points_of(given, BASE)
    for index in range(rounds):
        point = first[index] if index < len(first) else next_point(given, BASE, tried)
        assert point is not None
        rate = point.changes["optimizer.learning_rate"]
        assert isinstance(rate, float)
        tried.append(Tried(point=point, state="complete", value=1 - abs(math.log10(rate) + 3)))
    return tried


def test_the_first_points_cover_the_ranges_and_later_ones_follow_the_results() -> None:
    given = plan(RATE, FILTER)
    assert len(points_of(given, BASE)) == FIRST_POINTS
    tried = search(given, 24)
    distances = [abs(1 - one.value) for one in tried if one.value is not None]
    # drawn evenly over three powers of ten, the mean distance from one third of the range is (1 + 4) / 6 = 0.83
    assert sum(distances[FIRST_POINTS:]) / 14 < 0.5 < sum(distances[:FIRST_POINTS]) / 10


def test_the_same_results_give_the_same_proposal_in_any_process() -> None:
    given = plan(RATE, GROUPS, FILTER)
    tried = search(given, 12)
    one, other = (next_point(given, BASE, list(tried)) for _ in range(2))
    assert one == other and one is not None
    assert isinstance(one.changes["rollout.groups"], int)
    assert next_point(given, BASE, tried[:-1]) != one


def test_points_in_progress_pruned_and_failed_ones_are_known() -> None:
    given = plan(RATE, FILTER)
    tried = search(given, 11)
    states = ["running", "pruned", "failed"]
    for state in states:
        point = next_point(given, BASE, tried)
        assert point is not None and point.key not in {one.point.key for one in tried}
        tried.append(Tried(point=point, state=state, by_step={10: 0.1} if state == "pruned" else {}))  # type: ignore[arg-type]
    assert next_point(given, BASE, tried) is not None


def test_a_search_ends_when_every_combination_has_been_tried() -> None:
    given = plan(FILTER)
    tried = [Tried(point=point, state="complete", value=0.5) for point in points_of(given, BASE)]
    assert len(tried) == 2 and next_point(given, BASE, tried) is None


def test_all_seeds_of_a_point_come_before_the_next_point() -> None:
    points = points_of(plan(RATE), BASE)[:2]
    assert [(trial.point.key, trial.seed) for trial in point_by_point(points, [1, 2])] == [
        (points[0].key, 1), (points[0].key, 2), (points[1].key, 1), (points[1].key, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"method": "tpe"}, "an adaptive search needs an axis"),
        ({"method": "grid", "pruning": {}}, "not available for a grid"),
        ({"method": "random", "pruning": {"median": False, "collapse": False}}, "must be on"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(data: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        SweepPlan.model_validate(data)
