"""Bootstrap intervals against exact resampling distributions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from engine.statistics.bootstrap import bootstrap_mean, bootstrap_ratios


def test_it_finds_the_ends_of_the_exact_distribution() -> None:
    # 25 differences of 1, 12 of -1 and 219 of 0; by 256-fold convolution the 2.5% and 97.5% points are 1/256 and 25/256
    differences = [[1.0]] * 25 + [[-1.0]] * 12 + [[0.0]] * 219
    ends = bootstrap_mean(differences, seed=3)
    assert ends == pytest.approx((1 / 256, 25 / 256), abs=1 / 256 + 1e-9)


def test_whole_prompts_are_resampled_with_all_of_their_scores() -> None:
    clusters = [[1.0, 0.0, 1.0], [0.0], [1.0, 1.0], [0.5, 0.0]]
    exact = [
        sum(map(sum, drawn)) / sum(map(len, drawn)) for drawn in product(clusters, repeat=4)
    ]  # all 4^4 resamples, equally likely
    expected = np.quantile(exact, [0.025, 0.975])
    assert bootstrap_mean(clusters, seed=0, resamples=40_000) == pytest.approx(tuple(expected), abs=0.02)


def test_the_same_data_and_seed_give_the_same_interval() -> None:
    scores = [[float(value)] for value in range(30)]
    assert bootstrap_mean(scores, seed=1) == bootstrap_mean(scores, seed=1) != bootstrap_mean(scores, seed=2)


def test_equal_scores_have_no_width() -> None:
    assert bootstrap_mean([[0.5]] * 12, seed=1) == (0.5, 0.5)


@pytest.mark.parametrize("clusters", [[], [[1.0]], [[1.0], []]])
def test_too_little_is_refused(clusters: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="two prompts or more"):
        bootstrap_mean(clusters, seed=0)


def test_columns_share_their_resamples() -> None:
    # twice the scores of the first column on the same resamples: exactly twice its interval
    scores = np.arange(12.0)
    sums = np.stack([scores, 2 * scores, np.ones(12)], axis=1)
    low, high = bootstrap_ratios([(sums, np.ones_like(sums))], seed=4)
    assert (low[1], high[1]) == pytest.approx((2 * low[0], 2 * high[0]))
    assert (low[2], high[2]) == (1.0, 1.0)
    assert (low[0], high[0]) == pytest.approx(tuple(bootstrap_mean([[score] for score in scores.tolist()], seed=4)))


def test_arrays_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="arrays of one shape"):
        bootstrap_ratios([(np.ones((3, 2)), np.ones((3, 1)))], seed=0)


def test_strata_are_resampled_separately_and_weigh_the_same() -> None:
    # the mean of 0 or 1 of two prompts is 0, 1/2 or 1 with 1/4, 1/2, 1/4; the other stratum is constant, so that half
    # of it remains: 1 to 1.5
    one = (np.array([[0.0], [1.0]]), np.ones((2, 1)))
    constant = (np.full((9, 1), 2.0), np.ones((9, 1)))
    low, high = bootstrap_ratios([one, constant], seed=1)
    assert (low[0], high[0]) == (1.0, 1.5)
