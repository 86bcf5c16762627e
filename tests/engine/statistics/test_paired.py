"""Paired tests on shared seeds, by hand, by enumeration and against each other."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from engine.statistics.paired import (
    mcnemar,
    mcnemar_many,
    paired_difference,
    paired_rates,
    paired_rates_many,
    sign_flip_test,
)
from engine.statistics.proportions import newcombe, wilson

# 256 shared seeds: 61 solved by both, 25 only by the first, 12 only by the other, 158 by neither
FIRST = [1.0] * 61 + [1.0] * 25 + [0.0] * 12 + [0.0] * 158
OTHER = [1.0] * 61 + [0.0] * 25 + [1.0] * 12 + [0.0] * 158


@pytest.mark.parametrize(
    ("only_first", "only_other", "p"),
    [
        (25, 12, 0.04703103),
        (5, 0, 0.0625),  # 2 / 2^5
        (6, 0, 0.03125),
        (11, 3, 0.05737305),  # 2 (1 + 14 + 91 + 364) / 2^14
        (10, 10, 1.0),
        (50, 25, 0.00522824),
        (0, 0, 1.0),
    ],
)
def test_mcnemar(only_first: int, only_other: int, p: float) -> None:
    assert mcnemar(only_first, only_other) == pytest.approx(p, abs=1e-8)
    assert mcnemar(only_other, only_first) == mcnemar(only_first, only_other)


def test_mcnemar_of_many_is_the_sum_of_binomial_terms_of_each() -> None:
    first, other = np.meshgrid(np.arange(30), np.arange(30))
    for b, c, p in zip(first.flat, other.flat, mcnemar_many(first, other).flat, strict=True):
        tail = 2 * sum(math.comb(int(b + c), wins) for wins in range(min(b, c) + 1)) / 2 ** int(b + c)
        assert p == pytest.approx(min(1.0, tail), rel=1e-12)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="counts of 0 or more"):
        mcnemar(-1, 3)


def test_pairing_finds_what_the_intervals_of_each_hide() -> None:
    assert wilson(86, 256).low < wilson(73, 256).high  # .281 and .343: they overlap
    assert newcombe(86, 256, 73, 256).contains(0.0)
    assert not paired_rates(25, 12, 256).contains(0.0)


def test_bonett_and_price() -> None:
    # 26/258 - 13/258 = .050388; standard error sqrt((39/258 - .050388^2) / 258) = .024001, times 1.959964 = .047041
    assert paired_rates(25, 12, 256) == pytest.approx((0.003346, 0.097429), abs=1e-6)
    low, high = paired_rates_many([25, 12, 0], [12, 25, 0], 256)
    assert low.tolist()[:2] == pytest.approx([0.003346, -0.097429], abs=1e-6)
    # no discordant seeds: +- 1.959964 sqrt(2/258/258) = .010744
    assert (low[2], high[2]) == pytest.approx((-0.010744, 0.010744), abs=1e-6)


def test_more_discordant_than_shared_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="more discordant seeds than shared"):
        paired_rates(3, 2, 4)


def test_the_mean_difference_seed_by_seed() -> None:
    test = paired_difference(FIRST, OTHER)
    # sum of squares 37 - 256 (13/256)^2 = 36.339844, over 255 and 256: .02359399
    assert test.difference == 13 / 256 and test.df == 255
    assert test.error == pytest.approx(0.02359399, abs=1e-8)
    assert (test.low, test.high) == pytest.approx((0.004318, 0.097245), abs=1e-5)  # t(255) = 1.969310
    assert test.p == pytest.approx(0.0323, abs=1e-4)  # t = 2.1523


def test_equal_differences_have_no_width() -> None:
    same = paired_difference([0.3, 0.5, 0.1], [0.3, 0.5, 0.1])
    assert (same.difference, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    assert paired_difference([1.3, 1.5], [0.3, 0.5]).p == 0.0


@pytest.mark.parametrize(("first", "other"), [([1.0], [1.0, 0.0]), ([1.0], [0.0])])
def test_what_is_not_paired_or_too_little_is_refused(first: list[float], other: list[float]) -> None:
    for test in (paired_difference, sign_flip_test):
        with pytest.raises(ValueError, match=r"not paired|two or more"):
            test(first, other)


def test_sign_flips_count_every_pattern() -> None:
    differences = [0.4, 0.1, -0.2, 0.3, 0.5]
    # 6 of the 32 patterns sum to 1.1 or more on either side
    assert sign_flip_test(differences, [0.0] * 5) == 6 / 32
    sums = [
        sum(sign * one for sign, one in zip(signs, differences, strict=True)) for signs in product((-1, 1), repeat=5)
    ]
    assert sum(abs(one) >= 1.1 - 1e-9 for one in sums) == 6


def test_on_outcomes_sign_flips_are_mcnemars_test() -> None:
    assert sign_flip_test([1.0] * 11 + [0.0] * 3, [0.0] * 11 + [1.0] * 3) == pytest.approx(mcnemar(11, 3))
    # 256 seeds have too many patterns: 20,000 random ones have a standard error of .0015
    assert sign_flip_test(FIRST, OTHER) == pytest.approx(0.04703103, abs=0.006)
    assert sign_flip_test(FIRST, OTHER, seed=4) == sign_flip_test(FIRST, OTHER, seed=4)
