"""Weighted means of every two entries, by hand, by scipy's paired t test, and by the definition as a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from engine.statistics.all_pairs import compare_all
from engine.statistics.weighted_pairs import Weighted, weighted_pairs

NAN = math.nan


def test_two_entries_by_hand() -> None:
    # 10 / 4 responses and 8 / 4: of the first a - R b is 3 - 2.5, 7 - 7.5, of the other 2 - 2 and 6 - 6
    # squares (.5 / 4)^2 twice = .03125, times 2/1: a standard error of .25, t 2 with 1 degree of freedom: p .295167
    found = weighted_pairs(Weighted([[3.0, 7 / 3]], [[1, 3]]), Weighted([[2.0, 2.0]], [[1, 3]]), [2])
    assert found.difference[0, 0] == pytest.approx(0.5)
    assert found.p[0, 0] == pytest.approx(0.295167, abs=1e-6)
    assert found.low[0, 0] == pytest.approx(0.5 - 12.706205 * 0.25, abs=1e-6)
    assert [int(found[index][0, 0]) for index in (4, 5, 6)] == [2, 2, 0]


def test_with_equal_weights_it_is_the_paired_t_test_over_problems() -> None:
    stream = np.random.default_rng(1)
    scores = stream.normal(100, 10, size=(3, 40))
    weights = np.full((3, 40), 4.0)
    found = compare_all(scores, weights=(weights, weights))
    for one in range(3):
        for other in range(3):
            if one != other:
                test = ttest_rel(scores[one], scores[other])
                assert found.p[one, other] == pytest.approx(test.pvalue, rel=1e-6)
                low, high = test.confidence_interval(0.95)
                assert (found.low[one, other], found.high[one, other]) == pytest.approx((low, high), rel=1e-6)


def test_it_equals_the_definition_where_problems_are_missing_and_weights_differ() -> None:
    stream = np.random.default_rng(2)
    scores = stream.gamma(2.0, 300.0, size=(4, 30))
    scores[stream.random((4, 30)) < 0.2] = NAN
    weights = stream.integers(1, 9, size=(4, 30)).astype(float)
    found = compare_all(scores, weights=(weights, weights))
    for one in range(4):
        for other in range(4):
            both = ~np.isnan(scores[one]) & ~np.isnan(scores[other])
            influences = np.zeros(both.sum())
            means = []
            for index, sign in ((one, 1), (other, -1)):
                b = weights[index, both]
                a = scores[index, both] * b
                means.append(a.sum() / b.sum())
                influences += sign * (a - means[-1] * b) / b.sum()
            count = int(both.sum())
            error = math.sqrt((influences**2).sum() * count / (count - 1))
            assert found.shared[one, other] == count
            assert found.difference[one, other] == pytest.approx(means[0] - means[1], abs=1e-8)
            half = (found.high[one, other] - found.low[one, other]) / 2
            from scipy.stats import t

            assert half == pytest.approx(t.ppf(0.975, count - 1) * error, abs=1e-6)


def test_environments_have_the_same_weight_and_variances_within_them() -> None:
    # first environment: differences 1, 3, mean 2, variance of the mean 1; second: 4, 8, mean 6, variance 4
    # mean 4, standard error sqrt(5) / 2, 4 - 2 = 2 degrees of freedom, t 4.302653
    found = weighted_pairs(Weighted([[1.0, 3, 4, 8]], [[1] * 4]), Weighted([[0.0] * 4], [[1] * 4]), [2, 2])
    assert found.difference[0, 0] == pytest.approx(4.0)
    assert found.high[0, 0] == pytest.approx(4 + 4.302653 * math.sqrt(5) / 2, abs=1e-5)


def test_differences_without_variance_take_the_sign_test() -> None:
    ones = [[1.0] * 6]
    same = weighted_pairs(Weighted([[10.0] * 6], ones), Weighted([[7.0] * 6], ones), [6])
    assert (same.difference[0, 0], same.low[0, 0], same.high[0, 0]) == pytest.approx((3.0, 3.0, 3.0))
    assert same.p[0, 0] == pytest.approx(2 / 64)  # six of six signs
    assert weighted_pairs(Weighted([[7.0] * 6], ones), Weighted([[7.0] * 6], ones), [6]).p[0, 0] == 1.0


def test_fewer_than_two_shared_problems_are_not_compared() -> None:
    found = weighted_pairs(Weighted([[1.0, NAN, 3.0]], [[1, 1, 1]]), Weighted([[1.0, 2.0, 3.0]], [[1, 1, 0]]), [3])
    assert np.isnan(found.difference[0, 0])
    assert (found.p[0, 0], found.shared[0, 0]) == (1.0, 1)
