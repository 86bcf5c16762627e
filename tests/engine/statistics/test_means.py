"""Means over training seeds against tables and numbers worked out by hand."""

from __future__ import annotations

import math
from itertools import product
from statistics import fmean, variance

import pytest
from scipy.integrate import quad

from engine.statistics.means import difference_of_means, t_interval, t_quantile, welch, welch_all, without_interval

A, B = [0.42, 0.45, 0.39, 0.47, 0.44], [0.36, 0.41, 0.33, 0.40, 0.38]


def test_t_quantiles_are_those_of_the_tables() -> None:
    assert [t_quantile(df) for df in (2, 4, 9)] == pytest.approx([4.302653, 2.776445, 2.262157], abs=1e-6)
    assert t_quantile(1) == pytest.approx(math.tan(0.475 * math.pi))  # Cauchy
    assert t_quantile(1e7) == pytest.approx(1.959964, abs=1e-5)


@pytest.mark.parametrize("df", [0, -1, float("nan")])
def test_degrees_of_freedom_are_positive(df: float) -> None:
    with pytest.raises(ValueError, match="give more than 0"):
        t_quantile(df)


def test_an_interval_over_training_seeds() -> None:
    # mean .434, standard deviation .030496, over sqrt(5) .013638, t(4) = 2.776445: .434 +- .037866
    assert t_interval(A) == pytest.approx((0.396134, 0.471866), abs=1e-6)


def test_success_counts_of_five_seeds() -> None:
    # 61, 72, 55, 80 and 66 of 256: mean .2609375, standard error .01691005; pooled, Wilson would be .2376 to .2857
    assert t_interval([k / 256 for k in (61, 72, 55, 80, 66)]) == pytest.approx((0.213988, 0.307887), abs=1e-6)


def test_one_seed_has_no_interval_and_neither_have_equal_seeds() -> None:
    assert t_interval([0.4]) is None and t_interval([]) is None
    assert t_interval([0.1 + 0.2] * 3) is None  # a width of 0 would claim that the mean is certain
    assert [without_interval(count, "seed") for count in (1, 3)] == ["one seed", "3 seeds, all equal"]


def test_the_error_of_a_difference() -> None:
    # variances .00093 and .00103, each over 5: sqrt(.000392) = .019799
    assert difference_of_means(A, B) == pytest.approx((0.058, 0.01979899), abs=1e-8)
    with pytest.raises(ValueError, match="two or more of each"):
        difference_of_means([0.1], B)


def test_welch() -> None:
    test = welch(A, B)
    # df = (v + w)^2 / (v^2/4 + w^2/4) with v = .000186, w = .000206: .000392^2 / (7.70320e-8 / 4) = 7.979229
    assert (test.difference, test.error, test.df, test.p) == pytest.approx(
        (0.058, 0.019799, 7.979229, 0.019068), abs=1e-6
    )
    assert (test.low, test.high) == pytest.approx((0.012323, 0.103677), abs=1e-6)


def test_the_p_of_welch_is_the_tail_of_the_t_density() -> None:
    first, other = [1.0, 4.0, 2.5], [0.0, 0.5, 0.2, 0.4]
    v, w = variance(first) / 3, variance(other) / 4
    df, t = (v + w) ** 2 / (v**2 / 2 + w**2 / 3), (fmean(first) - fmean(other)) / math.sqrt(v + w)
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    inside, _ = quad(lambda x: scale * (1 + x * x / df) ** (-(df + 1) / 2), -t, t)
    assert welch(first, other).p == pytest.approx(1 - inside, abs=1e-9)


def test_welch_is_refused_without_variance() -> None:
    with pytest.raises(ValueError, match="no variance"):
        welch([1.0, 1.0], [0.5, 0.5])
    assert welch([1.0, 1.0], [0.5, 0.6]).df == pytest.approx(1.0)


def test_welch_of_every_two_is_welch_of_each() -> None:
    samples = [[0.42, 0.45, 0.39, 0.47, 0.44], [0.36, 0.41, 0.33, 0.40, 0.38], [0.3, 0.5], [0.2, 0.2, 0.2]]
    difference, p = welch_all(samples)
    assert p[0, 1] == p[1, 0] == pytest.approx(0.019068, abs=1e-6)
    for one, other in product(range(4), repeat=2):
        if (one, other) == (3, 3):
            continue
        found = welch(samples[one], samples[other])
        assert (difference[one, other], p[one, other]) == pytest.approx((found.difference, found.p))
    assert p[3, 3] == 1.0  # constant, both
    with pytest.raises(ValueError, match="fewer than two scores"):
        welch_all([[0.3], [0.1, 0.2]])
