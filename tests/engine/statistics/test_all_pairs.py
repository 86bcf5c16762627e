"""Matrices of pairwise comparisons, against a plain loop over pairs and problems, and numbers worked out by hand."""

from __future__ import annotations

import math
from itertools import product
from statistics import fmean, stdev

import numpy as np
import pytest

from engine.statistics.all_pairs import compare_all
from engine.statistics.means import t_quantile
from engine.statistics.paired import mcnemar, paired_difference, paired_rates


def outcomes(text: str) -> list[float]:
    return [math.nan if letter == "-" else float(letter) for letter in text]


def test_one_sample_per_problem_is_mcnemars_exact_test() -> None:
    # 61 problems that both solved, 25 and 12 that one did, of 256: exact p .04703103 (binomial sums)
    first = outcomes("1" * 61 + "1" * 25 + "0" * 12 + "0" * 158)
    other = outcomes("1" * 61 + "0" * 25 + "1" * 12 + "0" * 158)
    found = compare_all([first, other])
    assert found.p[0, 1] == found.p[1, 0] == pytest.approx(0.04703103, abs=1e-8)
    assert found.difference[0, 1] == pytest.approx(13 / 256)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx((0.003346, 0.097429), abs=1e-6)
    assert (found.low[1, 0], found.high[1, 0]) == pytest.approx((-0.097429, -0.003346), abs=1e-6)
    assert (found.shared[0, 1], found.ahead[0, 1], found.behind[0, 1]) == (256, 25, 12)


def test_only_problems_that_both_have_a_score_for_count() -> None:
    found = compare_all([outcomes("1110--"), outcomes("--0011")])
    assert found.shared.tolist() == [[4, 2], [2, 4]]
    assert (found.ahead[0, 1], found.behind[0, 1], found.difference[0, 1]) == (1, 0, 0.5)  # of the third and fourth


def test_fewer_than_two_shared_problems_are_not_compared() -> None:
    found = compare_all([outcomes("11--"), outcomes("-011")])
    assert math.isnan(found.difference[0, 1])
    assert (found.p[0, 1], found.shared[0, 1]) == (1.0, 1)


def test_samples_of_a_problem_are_one_score() -> None:
    # differences .4, .1, -.2, .3, .5: mean .22, variance .077, standard error .1241, t 1.7728 with 4 degrees of freedom
    first, other = [0.6, 0.5, 0.4, 0.7, 0.9], [0.2, 0.4, 0.6, 0.4, 0.4]
    found = compare_all([first, other])
    expected = paired_difference(first, other)
    assert found.p[0, 1] == pytest.approx(expected.p)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx((expected.low, expected.high))
    assert found.difference[0, 1] / math.sqrt(0.077 / 5) == pytest.approx(1.7728, abs=1e-4)


def test_a_difference_that_is_the_same_on_all_problems_is_judged_by_signs() -> None:
    # t has no variance; 3 problems of 3 for the first: 2/8
    assert compare_all([[0.75, 0.5, 1.0], [0.5, 0.25, 0.75]]).p[0, 1] == pytest.approx(0.25)


def test_a_third_is_a_third() -> None:
    found = compare_all([[1 / 3, 0.5], [(0.1 + 0.2) / 0.9, 0.5]])
    assert (found.ahead[0, 1], found.behind[0, 1], found.p[0, 1]) == (0, 0, 1.0)


@pytest.mark.parametrize("levels", [[0.0, 1.0], [0.0, 0.25, 0.5, 1.0]])
def test_matrices_are_those_of_a_loop(levels: list[float]) -> None:
    stream = np.random.default_rng(5)
    scores = stream.choice([*levels, math.nan], size=(6, 23))
    found = compare_all(scores)
    for one, other in product(range(6), repeat=2):
        pairs = [
            (a, b) for a, b in zip(scores[one].tolist(), scores[other].tolist(), strict=True) if not math.isnan(a + b)
        ]
        gains = [a - b for a, b in pairs]
        ahead, behind, n = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains), len(gains)
        assert (found.shared[one, other], found.ahead[one, other], found.behind[one, other]) == (n, ahead, behind)
        if len(levels) == 2 or one == other:
            p, ends = mcnemar(ahead, behind), tuple(paired_rates(ahead, behind, n))
        else:
            p = paired_difference([a for a, _ in pairs], [b for _, b in pairs]).p
            half = t_quantile(n - 1) * stdev(gains) / math.sqrt(n)
            ends = (fmean(gains) - half, fmean(gains) + half)
        assert found.p[one, other] == pytest.approx(p)
        assert (found.low[one, other], found.high[one, other]) == pytest.approx(ends)


def test_one_entry_against_many_is_a_row_of_the_matrix() -> None:
    scores = np.random.default_rng(2).choice([0.0, 0.5, 1.0, math.nan], size=(5, 30))
    whole, row = compare_all(scores), compare_all(scores[1:2], scores)
    for of_all, of_one in zip(whole, row, strict=True):
        assert of_one[0] == pytest.approx(of_all[1], nan_ok=True)


def test_environments_weigh_the_same_however_many_problems_they_have() -> None:
    # differences 1, 0, 0, 0 and 1, 0: means 1/4 and 1/2, so 3/8; variances of the means 1/16 and 1/4 over 4
    found = compare_all([[1, 0, 0, 1, 1, 0], [0, 0, 0, 1, 0, 0]], strata=[4, 2])
    assert found.difference[0, 1] == pytest.approx(3 / 8)
    half = t_quantile(4) * math.sqrt((1 / 16 + 1 / 4) / 4)
    assert found.high[0, 1] == pytest.approx(min(1.0, 3 / 8 + half))
    assert found.low[0, 1] == pytest.approx(3 / 8 - half)
    # one environment of which only one problem is shared is not compared
    missing = compare_all([outcomes("10011-"), outcomes("000100")], strata=[4, 2])
    assert math.isnan(missing.difference[0, 1])
    assert missing.p[0, 1] == 1.0
