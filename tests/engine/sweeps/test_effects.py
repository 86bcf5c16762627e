"""Effects of axes against numbers worked out by hand."""

from __future__ import annotations

import pytest

from engine.config import RunConfig
from engine.sweeps.effects import best, effect, estimate, interaction
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import points_of

BASE = RunConfig().model_dump(mode="json")
PLAN = SweepPlan.model_validate({
    "axes": [
        {"type": "values", "field": "loss.kl_coefficient", "values": [0.0, 0.1]},
        {"type": "values", "field": "steps", "values": [5, 6]},
    ]
})  # fmt: skip
SEEDS = [1, 2, 3]
# points in the order (kl, steps): (0, 5), (0, 6), (0.1, 5), (0.1, 6); by point the scores of seeds 1, 2, 3
TABLE = [[0.4, 0.5, 0.6], [0.6, 0.7, 0.8], [0.1, 0.2, 0.3], [0.3, 0.4, 0.2]]
POINTS = points_of(PLAN, BASE)
SCORES = {
    (point.key, seed): score
    for point, row in zip(POINTS, TABLE, strict=True)
    for seed, score in zip(SEEDS, row, strict=True)
}
T = 4.302653  # 97.5% quantile with two degrees of freedom


def test_the_effect_of_an_axis_is_over_means_of_seeds() -> None:
    found = effect("loss.kl_coefficient", POINTS, SEEDS, SCORES)
    # kl 0: seed means .5, .6, .7: mean .6, standard deviation .1, over sqrt(3) .057735
    none = found["0"]
    assert none is not None and none.mean == pytest.approx(0.6)
    assert (none.low, none.high) == pytest.approx((0.6 - T * 0.057735, 0.6 + T * 0.057735), abs=1e-5)
    assert (none.seeds, none.runs) == (3, 6)
    # kl 0.1: seed means .2, .3, .25
    some = found["0.1"]
    assert some is not None and some.mean == pytest.approx(0.25)


def test_a_seed_that_lacks_a_run_is_left_out_of_the_mean() -> None:
    lacking = {key: score for key, score in SCORES.items() if key != (POINTS[1].key, 3)}
    found = effect("loss.kl_coefficient", POINTS, SEEDS, lacking)["0"]
    # seeds 1 and 2 alone: (.5 + .6) / 2, and not pulled down by the 0.6 of seed 3, whose other run is missing
    assert found is not None and found.mean == pytest.approx(0.55) and (found.seeds, found.runs) == (2, 4)


def test_without_a_complete_seed_there_is_a_mean_and_no_interval() -> None:
    found = estimate(POINTS[:2], SEEDS, {(POINTS[0].key, 1): 0.4, (POINTS[1].key, 2): 0.7})
    assert found is not None and found.mean == pytest.approx(0.55)
    assert (found.low, found.high, found.seeds, found.runs) == (None, None, 0, 2)
    assert estimate(POINTS, SEEDS, {}) is None


def test_one_seed_has_no_interval() -> None:
    found = estimate(POINTS[:1], [1], SCORES)
    assert found is not None and (found.mean, found.low, found.seeds) == (0.4, None, 1)


def test_seeds_with_exactly_equal_results_have_a_mean_and_no_interval() -> None:
    found = estimate(POINTS[:1], [1, 2], {(POINTS[0].key, seed): 0.19 for seed in (1, 2)})
    assert found is not None and (found.mean, found.low, found.high, found.seeds) == (0.19, None, None, 2)


def test_a_pair_of_axes_has_a_mean_for_each_combination() -> None:
    found = interaction("loss.kl_coefficient", "steps", POINTS, SEEDS, SCORES)
    means = {key: round(one.mean, 6) for key, one in found.items() if one is not None}
    assert means == {("0", "5"): 0.5, ("0", "6"): 0.7, ("0.1", "5"): 0.2, ("0.1", "6"): 0.3}


def test_the_best_configuration_and_those_that_may_be_as_good() -> None:
    found = best(POINTS, SEEDS, SCORES)
    assert found is not None and found.point == POINTS[1] and found.compared == 4
    assert found.estimate.mean == pytest.approx(0.7)
    # standard deviations are all .1, so t = difference / (.1 * sqrt(2 / 3)) with df 4: against .5 it is 2.449 (p
    # .0705), against .2 6.124 (p .0036), against .3 4.899 (p .0080). Holm over 6 pairs: 6 * .0036 = .0216 and
    # 5 * .0080 = .0402 are significant, 3 * .0705 is not
    assert found.equals == [POINTS[0]]


def test_a_configuration_with_fewer_seeds_is_not_called_the_best() -> None:
    few = {key: score for key, score in SCORES.items() if key[0] != POINTS[1].key or key[1] == 1}
    found = best(POINTS, SEEDS, {**few, (POINTS[1].key, 1): 1.0})
    assert found is not None and found.point == POINTS[0]


def test_configurations_with_one_seed_are_not_compared() -> None:
    found = best(POINTS, [1], SCORES)
    assert found is not None and found.equals is None
    assert best(POINTS, SEEDS, {}) is None


def test_equal_constant_samples_are_not_significantly_different() -> None:
    constant = {(point.key, seed): 0.5 for point in POINTS for seed in SEEDS}
    found = best(POINTS, SEEDS, constant)
    assert found is not None and found.equals == POINTS[1:]
