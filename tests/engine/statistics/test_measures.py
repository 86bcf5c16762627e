"""An evaluation's measures over problems, each with an interval, and the time to a success rate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from engine.statistics.bootstrap import bootstrap_mean
from engine.statistics.measures import Tallies, measured
from engine.statistics.pass_at_k import pass_all_k, pass_at_k
from engine.statistics.time_to_success import first_reached


def tallies(
    samples: list[int],
    successes: list[int],
    *,
    planned: int,
    totals: Mapping[str, tuple[list[float], list[float]]] | None = None,
) -> Tallies:
    arrays = {name: (np.array(above, float), np.array(below, float)) for name, (above, below) in (totals or {}).items()}
    return Tallies(
        planned=planned, samples=np.array(samples, float), successes=np.array(successes, float), totals=arrays
    )


def test_pass_at_k_is_the_mean_over_problems_with_a_bootstrap_interval() -> None:
    solved = [3, 0, 10, 6] * 8
    found = measured([tallies([10] * 32, solved, planned=10)], seed=3)
    assert list(found) == [f"pass{sign}{k}" for k in (1, 2, 4, 8, 10) for sign in "@^"]
    assert found["pass@2"].value == pytest.approx(0.6)
    assert found["pass^2"].value == pytest.approx(0.35)
    assert found["pass@1"].value == found["pass^1"].value == pytest.approx(0.475)
    for name, one in (("pass@2", pass_at_k), ("pass^2", pass_all_k)):
        ends = bootstrap_mean([[one(10, successes, 2) or 0.0] for successes in solved], seed=8)
        assert (found[name].low, found[name].high) == pytest.approx(tuple(ends), abs=0.02)


def test_a_problem_without_all_of_its_samples_leaves_pass_at_k_unknown() -> None:
    assert measured([tallies([2, 1, 2], [1, 1, 2], planned=2)], seed=3) == {}


def test_problems_without_a_score_are_left_out() -> None:
    found = measured(
        [tallies([1, 0, 1], [1, 0, 0], planned=1, totals={"return": ([2.0, 9.0, 4.0], [1, 1, 1])})], seed=3
    )
    assert found["return"].value == 3.0
    assert list(found) == ["return"]


def test_measures_are_ratios_of_totals() -> None:
    # well-formed responses over responses: 3 + 1 + 4 of 4 + 2 + 4
    totals = {"format": ([3.0, 1.0, 4.0], [4.0, 2.0, 4.0]), "none": ([0.0] * 3, [0.0] * 3)}
    found = measured([tallies([1, 1, 1], [1, 0, 1], planned=1, totals=totals)], seed=3)
    assert found["format"].value == pytest.approx(0.8)
    low, high = found["format"].low, found["format"].high
    assert low is not None and high is not None and 0.5 <= low < 0.8 < high <= 1.0
    assert "none" not in found  # nothing to divide by


def test_environments_weigh_the_same_and_a_measure_of_only_one_is_left_out() -> None:
    small = tallies([1, 1], [1, 0], planned=1, totals={"turns": ([2.0, 4.0], [1, 1]), "tokens": ([5.0, 5.0], [1, 1])})
    large = tallies([1] * 8, [0] * 8, planned=1, totals={"turns": ([9.0] * 8, [1] * 8)})
    found = measured([small, large], seed=1)
    assert found["turns"].value == pytest.approx((3 + 9) / 2)
    assert (found["turns"].low, found["turns"].high) == (5.5, 6.5)  # of the two problems of the first: 2 to 4
    assert "tokens" not in found
    assert found["pass@1"].value == pytest.approx(0.25)


def test_where_all_problems_have_the_same_a_share_has_wilsons_interval_and_the_rest_none() -> None:
    none = np.zeros(256).tolist()
    totals = {"format": ([4.0] * 256, [4.0] * 256), "return": (none, [1.0] * 256)}
    found = measured([tallies([4] * 256, [0] * 256, planned=4, totals=totals)], seed=1, shares={"format"})
    # 0 of 256 problems, although 1024 episodes: up to 3.841459 / (256 + 3.841459) = .014784
    assert found["pass@4"] == found["pass^4"] == pytest.approx((0.0, 0.0, 0.014784), abs=1e-6)
    assert found["format"] == pytest.approx((1.0, 0.985216, 1.0), abs=1e-6)
    assert found["return"] == (0.0, None, None)


def test_two_environments_that_are_solved_always_and_never_have_an_interval_of_their_mean() -> None:
    # ends of Wilson 256/256 and 0/256: the mean .5 reaches down and up by .014784 / 2 (the other end is exact)
    found = measured([tallies([1] * 256, [1] * 256, planned=1), tallies([1] * 256, [0] * 256, planned=1)], seed=1)
    assert found["pass@1"] == pytest.approx((0.5, 0.5 - 0.014784 / 2, 0.5 + 0.014784 / 2), abs=1e-6)


def test_one_problem_has_no_interval() -> None:
    found = measured([tallies([2], [1], planned=2, totals={"return": ([3.0], [2.0])})], seed=1)
    assert found["return"] == (1.5, None, None)


def test_nothing_scored_has_no_measures() -> None:
    assert measured([tallies([0, 0], [0, 0], planned=1, totals={"return": ([0.0, 0.0], [0.0, 0.0])})], seed=0) == {}
    assert measured([], seed=0) == {}


def test_time_to_a_rate_is_the_first_evaluation_that_reached_it() -> None:
    curve = [(0.0, 0.1), (20.0, 0.55), (10.0, 0.4), (30.0, 0.45), (40.0, 0.7)]
    assert first_reached(curve) == 20.0
    assert first_reached(curve, rate=0.6) == 40.0
    assert first_reached(curve, rate=0.9) is None
    assert first_reached([]) is None
