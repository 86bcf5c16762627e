"""An entry's numbers: rates, means, pass@k and pass^k over problems, each with an interval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from engine.statistics.bootstrap import bootstrap_mean
from engine.statistics.clustered import METHODS, success_interval
from engine.statistics.pass_at_k import pass_all_k, pass_at_k
from engine.statistics.proportions import wilson
from engine.statistics.suite_summary import ProblemTotals, SuiteSummary, summarise_suite
from engine.statistics.time_to_success import first_reached


def summary(
    samples: list[int],
    successes: list[int],
    *,
    planned: int,
    totals: Mapping[str, tuple[list[float], list[float]]] | None = None,
) -> SuiteSummary:
    arrays = {name: (np.array(above), np.array(below)) for name, (above, below) in (totals or {}).items()}
    found = summarise_suite(
        ProblemTotals(
            samples=np.array(samples, dtype=float), successes=np.array(successes, dtype=float), totals=arrays
        ),
        planned=planned,
        seed=3,
    )
    assert found is not None
    return found


def test_one_sample_per_problem_has_wilsons_interval() -> None:
    found = summary([1] * 256, [1] * 61 + [0] * 195, planned=1)
    assert (found.success.low, found.success.high) == pytest.approx((0.190205, 0.294096), abs=1e-6)
    assert (found.problems, found.samples, found.successes, found.method) == (256, 256, 61, METHODS["wilson"])


@pytest.mark.parametrize("successes", [[3, 0, 10, 6], [5, 5, 5, 5], [0, 0, 0, 0]])
def test_several_samples_are_clustered_by_problem(successes: list[int]) -> None:
    found = summary([10] * 4, successes, planned=10)
    expected = success_interval([[1.0] * solved + [0.0] * (10 - solved) for solved in successes])
    assert (found.success.value, found.success.low, found.success.high) == pytest.approx(
        (expected.rate, expected.low, expected.high)
    )
    assert found.method == METHODS[expected.method]


def test_a_problem_with_more_scored_samples_counts_no_more() -> None:
    assert summary([4, 1, 4], [4, 0, 2], planned=4).success.value == pytest.approx((1 + 0 + 0.5) / 3)


def test_pass_at_k_is_the_mean_over_problems_with_a_bootstrap_interval() -> None:
    solved = [3, 0, 10, 6] * 8
    found = summary([10] * 32, solved, planned=10)
    assert list(found.pass_at) == list(found.pass_all) == [1, 2, 4, 8, 10]
    assert found.pass_at[2].value == pytest.approx(0.6)
    assert found.pass_all[2].value == pytest.approx(0.35)
    assert found.pass_at[1].value == found.pass_all[1].value == pytest.approx(found.success.value)
    for k, estimates in ((2, found.pass_at[2]), (4, found.pass_at[4])):
        ends = bootstrap_mean([[pass_at_k(10, one, k) or 0.0] for one in solved], seed=8)
        assert (estimates.low, estimates.high) == pytest.approx(tuple(ends), abs=0.02)
    ends = bootstrap_mean([[pass_all_k(10, one, 2) or 0.0] for one in solved], seed=8)
    assert (found.pass_all[2].low, found.pass_all[2].high) == pytest.approx(tuple(ends), abs=0.02)


def test_a_problem_without_all_of_its_samples_leaves_pass_at_k_unknown() -> None:
    found = summary([2, 1, 2], [1, 1, 2], planned=2)
    assert (found.pass_at, found.pass_all) == ({}, {})


def test_problems_without_a_score_are_left_out() -> None:
    found = summary([1, 0, 1], [1, 0, 0], planned=1, totals={"return": ([2.0, 9.0, 4.0], [1, 1, 1])})
    assert (found.problems, found.success.value, found.measures["return"].value) == (2, 0.5, 3.0)
    assert found.success.low == pytest.approx(wilson(1, 2).low)


def test_measures_are_ratios_of_totals() -> None:
    # well-formed responses over responses: 3 + 1 + 4 of 4 + 2 + 4
    found = summary(
        [1, 1, 1], [1, 0, 1], planned=1, totals={"format": ([3, 1, 4], [4, 2, 4]), "none": ([0] * 3, [0] * 3)}
    )
    assert found.measures["format"].value == pytest.approx(0.8)
    low, high = found.measures["format"].low, found.measures["format"].high
    assert low is not None and high is not None and 0.5 <= low < 0.8 < high <= 1.0
    assert "none" not in found.measures  # nothing to divide by


def test_one_problem_has_no_bootstrap_interval() -> None:
    found = summary([2], [1], planned=2, totals={"return": ([3.0], [2.0])})
    assert found.measures["return"] == (1.5, None, None)
    assert (found.success.low, found.success.high) == pytest.approx(tuple(wilson(0.5, 1)))


def test_nothing_scored_has_no_summary() -> None:
    nothing = ProblemTotals(samples=np.zeros(3), successes=np.zeros(3), totals={})
    assert summarise_suite(nothing, planned=1, seed=0) is None


def test_time_to_a_rate_is_the_first_evaluation_that_reached_it() -> None:
    curve = [(0.0, 0.1), (20.0, 0.55), (10.0, 0.4), (30.0, 0.45), (40.0, 0.7)]
    assert first_reached(curve) == 20.0
    assert first_reached(curve, rate=0.6) == 40.0
    assert first_reached(curve, rate=0.9) is None
    assert first_reached([]) is None
