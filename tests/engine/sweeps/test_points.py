"""Which points a plan has: grids, draws, whole numbers, the order of trials, and plans that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from engine.config import RunConfig
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import fixed, points_of, trials_of

BASE = RunConfig().model_dump(mode="json")
KL = {"type": "values", "field": "loss.kl_coefficient", "values": [0.0, 0.01]}
RATE = {"type": "range", "field": "optimizer.learning_rate", "low": 1e-4, "high": 1e-2, "scale": "log", "count": 3}
GROUPS = {"type": "range", "field": "rollout.groups", "low": 4, "high": 8, "count": 3}
FILTER = {
    "type": "settings",
    "name": "Filter",
    "settings": [
        {"label": "none", "changes": {"filter.type": "none"}},
        {"label": "0.9", "changes": {"filter.type": "top_p", "filter.value": 0.9}},
    ],
}  # fmt: skip


def plan(*axes: dict[str, Any], **more: Any) -> SweepPlan:
    return SweepPlan.model_validate({"axes": axes, **more})


def test_a_grid_has_every_combination_in_order() -> None:
    points = points_of(plan(KL, FILTER), BASE)
    assert [point.text for point in points] == [
        "loss.kl_coefficient = 0, Filter = none",
        "loss.kl_coefficient = 0, Filter = 0.9",
        "loss.kl_coefficient = 0.01, Filter = none",
        "loss.kl_coefficient = 0.01, Filter = 0.9",
    ]
    assert points[3].changes == {"loss.kl_coefficient": 0.01, "filter.type": "top_p", "filter.value": 0.9}


def test_a_logarithmic_range_in_a_grid_is_spaced_by_factors() -> None:
    # 1e-4 to 1e-2 in three: each ten times the one before
    values = [point.changes["optimizer.learning_rate"] for point in points_of(plan(RATE), BASE)]
    assert values == [1e-4, 1e-3, 1e-2]


def test_a_field_that_counts_takes_whole_numbers_and_one_that_measures_does_not() -> None:
    assert [point.changes["rollout.groups"] for point in points_of(plan(GROUPS), BASE)] == [4, 6, 8]
    of_loss = {**GROUPS, "field": "loss.dual_clip", "high": 5}
    assert [point.changes["loss.dual_clip"] for point in points_of(plan(of_loss), BASE)] == [4.0, 4.5, 5.0]


def test_whole_numbers_that_coincide_count_once() -> None:
    close = {**GROUPS, "high": 5, "count": 4}  # 4, 4.33, 4.67 and 5
    assert [point.changes["rollout.groups"] for point in points_of(plan(close), BASE)] == [4, 5]


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_draws_stay_in_their_ranges_and_more_of_them_begin_with_the_same_ones(method: str) -> None:
    few = points_of(plan(RATE, GROUPS, FILTER, method=method, points=5), BASE)
    many = points_of(plan(RATE, GROUPS, FILTER, method=method, points=40), BASE)
    assert [point.key for point in many[:5]] == [point.key for point in few]
    assert all(1e-4 <= float(str(point.changes["optimizer.learning_rate"])) <= 1e-2 for point in many)
    assert {point.changes["rollout.groups"] for point in many} == {4, 5, 6, 7, 8}
    assert {point.labels["Filter"] for point in many} == {"none", "0.9"}


def test_another_sweep_seed_draws_other_points() -> None:
    one, other = (points_of(plan(RATE, method="random", points=4, sweep_seed=seed), BASE) for seed in (1, 2))
    assert {point.key for point in one} & {point.key for point in other} == set()


def test_sobol_points_fill_every_eighth_of_a_range_once() -> None:
    # a scrambled Sobol sequence is a (0, 3)-net in each dimension: 8 points, one in each interval of length 1/8
    linear = {"type": "range", "field": "loss.dual_clip", "low": 0, "high": 8}
    points = points_of(plan(linear, method="sobol", points=8), BASE)
    assert sorted(int(float(str(point.changes["loss.dual_clip"]))) for point in points) == list(range(8))


def test_a_sweep_over_seeds_alone_has_one_point() -> None:
    for method in ("grid", "random", "sobol"):
        assert [dict(point.changes) for point in points_of(plan(method=method, points=4), BASE)] == [{}]


def test_a_fixed_grid_has_the_same_points_as_values() -> None:
    made = plan(RATE, KL)
    assert points_of(fixed(made, BASE), BASE) == points_of(made, BASE)
    assert [axis.type for axis in fixed(made, BASE).axes] == ["values", "values"]


def test_trials_run_seed_by_seed_in_an_order_of_their_own() -> None:
    points = points_of(plan(KL, GROUPS), BASE)
    trials = list(trials_of(points, [3, 1], sweep_seed=1))
    assert [trial.seed for trial in trials] == [3] * 6 + [1] * 6
    orders = [[trial.point.key for trial in trials[start : start + 6]] for start in (0, 6)]
    assert set(orders[0]) == set(orders[1]) and orders[0] != orders[1]
    assert trials == list(trials_of(points, [3, 1], sweep_seed=1))


def test_the_key_of_a_point_does_not_depend_on_the_order_of_axes() -> None:
    assert {one.key for one in points_of(plan(KL, FILTER), BASE)} == {
        one.key for one in points_of(plan(FILTER, KL), BASE)
    }


@pytest.mark.parametrize(
    ("axes", "more", "reason"),
    [
        ([{**KL, "field": "seed"}], {}, "axis of their own"),
        ([{**KL, "values": [0.1, 0.1]}], {}, "'0.1' is listed twice"),
        ([KL, KL], {}, "is used twice"),
        ([FILTER, {**KL, "field": "filter.value"}], {}, "two axes set filter.value"),
        ([{**RATE, "low": 0}], {}, "more than 0 on a logarithmic scale"),
        ([{**RATE, "low": 1}], {}, "must be more than the low end 1"),
        ([KL], {"seeds": [1, 1]}, "a seed is listed twice"),
        ([KL], {"seeds": [-1]}, "from 0 to 999999"),
        ([{**RATE, "count": 50}, {**GROUPS, "count": 11}], {"seeds": [1]}, "50 × 11 = 550 configurations with 1 seeds"),
        ([RATE], {"method": "random", "points": 200}, "200 configurations with 3 seeds are 600 runs"),
    ],
)
def test_a_plan_that_cannot_be_swept_is_refused_with_the_reason(
    axes: list[dict[str, Any]], more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason):
        plan(*axes, **more)
