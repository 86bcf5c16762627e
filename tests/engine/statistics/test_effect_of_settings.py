"""What an outcome goes with: rank correlations and shares of variance."""

from __future__ import annotations

import numpy as np
import pytest

from engine.statistics.effect_of_settings import effect_share, rank_correlation


def test_a_rank_correlation_by_hand() -> None:
    # ranks 1 2 3 4 and 1 3 2 4: squared differences 0 + 1 + 1 + 0, so 1 - 6 · 2 / (4 · 15) = 0.8
    found = rank_correlation([1, 10, 100, 1000], [0.1, 0.3, 0.2, 0.9], list("abcd"), seed=1)
    assert found is not None and found.rho == pytest.approx(0.8)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    # ranks 1.5 1.5 3 and 1 2 3: covariance (-0.5)(-1) + (-0.5)(0) + (1)(1) = 1.5, over √(1.5 · 2) gives 0.8660
    found = rank_correlation([1, 1, 2], [1, 2, 3], list("abc"), seed=1)
    assert found is not None and found.rho == pytest.approx(0.8660254)


def test_four_configurations_are_too_few_for_an_interval_whatever_their_seeds() -> None:
    found = rank_correlation([1, 2, 3, 4] * 3, list(range(12)), ["a", "b", "c", "d"] * 3, seed=1)
    assert found is not None and found.low is None and found.high is None


def test_the_interval_of_pure_noise_has_zero_in_it_and_that_of_a_trend_does_not() -> None:
    random = np.random.default_rng(3)
    values = list(range(30))
    names = [str(one) for one in values]
    noise = rank_correlation(values, random.normal(size=30).tolist(), names, seed=1)
    trend = rank_correlation(values, (np.arange(30) + random.normal(size=30)).tolist(), names, seed=1)
    assert noise is not None and noise.low is not None and noise.high is not None and noise.low < 0 < noise.high
    assert trend is not None and trend.low is not None and trend.low > 0.8


@pytest.mark.parametrize(("values", "outcomes"), [([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])])
def test_without_variation_or_with_two_runs_there_is_no_correlation(values: list[float], outcomes: list[float]) -> None:
    assert rank_correlation(values, outcomes, values, seed=1) is None


def test_a_share_of_variance_by_hand() -> None:
    # levels a: 1, 3 and b: 5, 7; the mean is 4. Between: 2 · (2 - 4)² + 2 · (6 - 4)² = 16, all: 9 + 1 + 1 + 9 = 20
    found = effect_share(["a", "a", "b", "b"], [1, 3, 5, 7], seed=1)
    assert found is not None
    assert (found.share, found.by_chance, found.levels) == pytest.approx((0.8, 1 / 3, 2))
    # of the 6 ways to deal four outcomes to two pairs, 2 give as much: p is about a third
    assert found.p == pytest.approx(1 / 3, abs=0.04)


def test_random_outcomes_have_the_share_that_chance_gives_on_average() -> None:
    random = np.random.default_rng(5)
    levels = ["a", "b", "c", "d"] * 5
    shares = [effect_share(levels, random.normal(size=20).tolist(), seed=1) for _ in range(40)]
    # 3 / 19 = 0.158, with a standard error of about 0.1 / √40
    assert np.mean([one.share for one in shares if one]) == pytest.approx(3 / 19, abs=0.05)


@pytest.mark.parametrize(
    ("levels", "outcomes"), [(["a", "a"], [1, 2]), (["a", "b"], [1, 2]), (["a", "a", "b"], [4, 4, 4])]
)
def test_one_level_a_level_for_each_run_or_a_constant_outcome_has_no_share(
    levels: list[str], outcomes: list[float]
) -> None:
    assert effect_share(levels, outcomes, seed=1) is None
