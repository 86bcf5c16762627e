"""Evaluations are compared on the problems that both played, and problems with several episodes are clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.statistics.means import t_quantile
from engine.statistics.paired import paired_difference, paired_rates
from engine.statistics.shared_problems import compare_on_shared, compare_with_many, tally


def once(solved: str, start: int = 0) -> dict[int, tuple[int, int]]:
    return {start + index: (1, int(one)) for index, one in enumerate(solved)}


def test_problems_of_only_one_side_do_not_count() -> None:
    # problems 2 to 5 are shared: the first solved 3 of them, the other 1, and two are discordant
    found = compare_on_shared(once("001110"), once("010011", start=2))
    assert found is not None
    assert (found.problems, found.rate, found.other_rate, found.method) == (4, 0.75, 0.25, "one_episode")
    # first: problems 2, 3, 4 solved, 5 not; other: 3 solved, 2, 4, 5 not; so 2 for the first, 0 for the other
    assert (found.low, found.high) == paired_rates(2, 0, 4)


def test_pairing_finds_a_difference_that_independent_episodes_hide() -> None:
    # 61 both right, 25 and 12 discordant of 256: Bonett and Price .003346 to .097429, while 86 and 73 of 256 taken as
    # independent have a p of 0.21
    first = once("1" * 61 + "1" * 25 + "0" * 12 + "0" * 158)
    other = once("1" * 61 + "0" * 25 + "1" * 12 + "0" * 158)
    found = compare_on_shared(first, other)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.003346, 0.097429), abs=1e-6)
    assert found.significant
    assert found.difference == pytest.approx(13 / 256)
    assert found.p == pytest.approx(0.0358, abs=1e-4)


def test_the_same_outcomes_are_not_significantly_different() -> None:
    found = compare_on_shared(once("0110"), once("0110"))
    assert found is not None and not found.significant


def test_several_episodes_of_a_problem_are_one_cluster() -> None:
    # with two episodes of each problem on both sides it is the paired t test of the problems' means
    first, other = {1: (2, 2), 2: (2, 1), 3: (2, 2), 4: (2, 0)}, {1: (2, 1), 2: (2, 1), 3: (2, 0), 4: (2, 0)}
    found, expected = compare_on_shared(first, other), paired_difference([1, 0.5, 1, 0], [0.5, 0.5, 0, 0])
    assert found is not None and found.method == "several_episodes"
    assert (found.difference, found.low, found.high) == pytest.approx(
        (expected.difference, max(-1, expected.low), min(1, expected.high))
    )
    assert found.p == pytest.approx(expected.p)


def test_sides_may_have_different_numbers_of_episodes_of_a_problem() -> None:
    # rates 3/4 and 1/2; influences (2 - 1.5)/4 - (1 - .5)/2 = -.125 and (1 - 1.5)/4 - (0 - .5)/2 = .125, so the error
    # is sqrt(2/1 * 2 * .125^2) = .25
    found = compare_on_shared({1: (2, 2), 2: (2, 1)}, {1: (1, 1), 2: (1, 0)})
    assert found is not None
    assert found.difference == 0.25
    half = t_quantile(1) * math.sqrt(2 * 2 * 0.125**2)
    assert (found.low, found.high) == (max(-1.0, 0.25 - half), min(1.0, 0.25 + half))


def test_two_problems_that_differ_alike_are_no_proof() -> None:
    found = compare_on_shared({1: (2, 2), 2: (2, 2)}, {1: (2, 0), 2: (2, 0)})
    assert found is not None
    assert (found.difference, found.significant) == (1.0, False)
    assert (found.low, found.high) == paired_rates(2, 0, 2)


def test_fewer_than_two_shared_problems_are_not_compared() -> None:
    assert compare_on_shared(once("01"), once("1", start=1)) is None
    assert compare_on_shared(once("01"), once("01", start=5)) is None


@pytest.mark.parametrize("problems", [[5, 3, 9, 1, 7, 2], [5, 3, 5, 1, 3, 2]])
def test_one_against_many_agrees_with_one_against_one(problems: list[int]) -> None:
    played = np.array(problems, dtype=np.uint64)
    first = np.array([1, 0, 1, 1, 0, 1], dtype=bool)
    others = np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0]], dtype=bool)
    low, high, p = compare_with_many(first, others, played)
    for index, other in enumerate(others):
        found = compare_on_shared(tally(played, first), tally(played, other))
        assert found is not None
        assert (low[index], high[index], p[index]) == pytest.approx((found.low, found.high, found.p))
        assert (found.p <= 0.05) == found.significant


def test_one_problem_cannot_be_paired() -> None:
    solved = np.array([True, False])
    with pytest.raises(ValueError, match="needs 2 or more"):
        compare_with_many(solved, solved[None], np.array([4, 4], dtype=np.uint64))
