"""Statistics against numbers worked out by hand, by exact enumeration, or published."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
import pytest

from engine.statistics.bootstrap import bootstrap_over_prompts, bootstrap_over_runs
from engine.statistics.clusters import cluster_error, rerun_error, success_interval
from engine.statistics.corrections import benjamini_hochberg, holm
from engine.statistics.pairs import mcnemar, paired_difference, sign_flip_test
from engine.statistics.pass_at_k import pass_all_k, pass_at_k, suite_pass_all_k, suite_pass_at_k
from engine.statistics.runs import mean_over_runs, permutation_of_means, welch
from engine.statistics.student_t import t_quantile, t_tail
from engine.statistics.tasks import chance_of_improvement, interquartile_mean, optimality_gap, performance_profile

A, B = [0.42, 0.45, 0.39, 0.47, 0.44], [0.36, 0.41, 0.33, 0.40, 0.38]
X = np.array([[0.20, 0.55, 0.90, 0.10], [0.30, 0.50, 0.95, 0.05], [0.25, 0.65, 0.80, 0.00]])
Y = np.array([[0.25, 0.45, 0.85, 0.15], [0.20, 0.60, 0.70, 0.05], [0.15, 0.40, 0.75, 0.20]])


@pytest.mark.parametrize(
    ("samples", "successes", "k", "any_of", "all_of"),
    [
        (10, 3, 1, 0.3, 0.3),
        (10, 3, 2, 1 - 21 / 45, 3 / 45),  # C(7,2) = 21, C(10,2) = 45, C(3,2) = 3
        (10, 3, 5, 1 - 21 / 252, 0.0),  # C(7,5) = 21, C(10,5) = 252
        (10, 3, 8, 1.0, 0.0),  # 8 of 10 cannot all be among 7 failures
        (16, 1, 8, 0.5, 0.0),
        (16, 4, 8, 0.96153846, 0.0),
        (5, 2, 3, 0.9, 0.0),  # 1 - C(3,3)/C(5,3)
        (8, 8, 4, 1.0, 1.0),
        (8, 0, 4, 0.0, 0.0),
    ],
)
def test_pass_at_k_by_hand(samples: int, successes: int, k: int, any_of: float, all_of: float) -> None:
    assert pass_at_k(samples, successes, k) == pytest.approx(any_of, abs=1e-8)
    assert pass_all_k(samples, successes, k) == pytest.approx(all_of, abs=1e-8)


def test_pass_at_k_is_the_share_of_subsets_with_a_success() -> None:
    outcomes = [1, 0, 0, 1, 0, 0, 0]
    for k in range(1, 8):
        subsets = list(combinations(outcomes, k))
        assert pass_at_k(7, 2, k) == pytest.approx(fmean(any(subset) for subset in subsets))
        assert pass_all_k(7, 2, k) == pytest.approx(fmean(all(subset) for subset in subsets))


def test_pass_at_k_of_many_samples_neither_overflows_nor_rounds_to_nothing() -> None:
    # one success in n: a subset of k holds it with chance k/n
    assert pass_at_k(100_000, 1, 7) == pytest.approx(7e-5, rel=1e-9)
    assert pass_at_k(100_000, 50_000, 1000) == pytest.approx(1.0)


def test_fewer_samples_than_k_say_nothing() -> None:
    assert pass_at_k(3, 3, 4) is None
    assert suite_pass_at_k([(4, 1), (3, 1)], 4) is None
    assert suite_pass_at_k([], 1) is None


def test_a_suite_averages_over_prompts() -> None:
    suite = [(10, successes) for successes in (3, 0, 10, 6)]
    assert suite_pass_at_k(suite, 2) == pytest.approx(0.6)
    assert suite_pass_at_k(suite, 5) == pytest.approx(0.72916667)
    assert suite_pass_all_k(suite, 2) == pytest.approx(0.35)


@pytest.mark.parametrize(("samples", "successes", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(samples: int, successes: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"cannot be|means nothing"):
        pass_at_k(samples, successes, k)


def test_t_quantiles_are_those_of_the_tables() -> None:
    assert [t_quantile(df) for df in (2, 4, 9)] == pytest.approx([4.302653, 2.776445, 2.262157], abs=1e-6)
    assert t_quantile(1e7) == pytest.approx(1.959964, abs=1e-5)
    assert t_tail(1.0, 1) == pytest.approx(0.5)  # Cauchy: half its mass is within 1


def test_equal_clusters_err_by_the_spread_of_their_means() -> None:
    clusters = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]]
    assert cluster_error(clusters) == pytest.approx(0.21347814, abs=1e-8)
    assert cluster_error(clusters) == pytest.approx(stdev([1, 0, 0.5, 0.75]) / 2)
    assert rerun_error(clusters) == pytest.approx(0.09547033, abs=1e-8)


def test_unequal_clusters() -> None:
    clusters = [[1, 1, 0], [0, 0], [1, 1, 1, 0]]
    assert cluster_error(clusters) == pytest.approx(0.19005931, abs=1e-8)
    assert cluster_error([[1, 0, 1]]) is None
    assert rerun_error([[1, 0], [1]]) is None


def test_one_sample_a_prompt_has_wilsons_interval() -> None:
    interval = success_interval([[1]] * 61 + [[0]] * 195)
    assert (interval.low, interval.high) == pytest.approx((0.190205, 0.294096), abs=1e-6)
    assert interval.method == "wilson"


def test_samples_of_one_prompt_are_no_independent_trials() -> None:
    # 256 prompts, solved four times of four or never: as wide as t over 256 prompts, not as Wilson over 1024
    clustered = success_interval([[1] * 4] * 61 + [[0] * 4] * 195)
    single = success_interval([[1]] * 61 + [[0]] * 195)
    assert clustered.method == "t_over_prompts"
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.02)
    # [1, 0, .5, .75]: .5625 +- t(3) 3.182446 x .21347814, cut at 0 and 1
    few = success_interval([[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]])
    assert (few.rate, few.low, few.high) == (0.5625, 0.0, 1.0)


@pytest.mark.parametrize("cluster", [[0, 0], [1, 1], [1, 0], [1] * 15 + [0] * 7])
def test_prompts_that_are_all_alike_still_leave_doubt(cluster: list[int]) -> None:
    interval = success_interval([cluster] * 10)
    assert interval.method == "wilson_over_prompts"
    assert interval.high - interval.low > 0.25


@pytest.mark.parametrize(
    ("b", "c", "exact", "mid"),
    [
        (12, 25, 0.04703103, 0.03355244),
        (0, 5, 0.0625, 0.03125),
        (3, 11, 0.05737305, 0.03515625),
        (10, 10, 1.0, 0.82380295),
        (50, 25, 0.00522824, 0.00383624),
        (0, 0, 1.0, 1.0),
    ],
)
def test_mcnemar(b: int, c: int, exact: float, mid: float) -> None:
    assert mcnemar(b, c) == pytest.approx(exact, abs=1e-8)
    assert mcnemar(b, c, mid=True) == pytest.approx(mid, abs=1e-8)


def paired_outcomes() -> tuple[list[float], list[float]]:
    """256 shared seeds: 61 solved by both, 25 only by the first, 12 only by the other."""
    first = [1.0] * 61 + [1.0] * 25 + [0.0] * 12 + [0.0] * 158
    other = [1.0] * 61 + [0.0] * 25 + [1.0] * 12 + [0.0] * 158
    return first, other


def test_a_paired_difference_sees_what_overlapping_intervals_hide() -> None:
    difference = paired_difference(*paired_outcomes())
    assert difference.mean == 13 / 256
    assert difference.error == pytest.approx(0.02359399, abs=1e-8)
    assert difference.low > 0
    with pytest.raises(ValueError, match="no pairs"):
        paired_difference([1.0], [1.0, 0.0])


def test_a_paired_bootstrap_finds_the_ends_of_the_exact_distribution() -> None:
    first, other = paired_outcomes()
    ends = bootstrap_over_prompts([[a - b] for a, b in zip(first, other, strict=True)], seed=3)
    assert ends == pytest.approx((1 / 256, 25 / 256), abs=1 / 256 + 1e-9)
    assert ends == bootstrap_over_prompts([[a - b] for a, b in zip(first, other, strict=True)], seed=3)


def test_sign_flips_count_every_pattern() -> None:
    # 6 of the 32 patterns of these differences sum to 1.1 or more on either side
    assert sign_flip_test([0.4, 0.1, -0.2, 0.3, 0.5], [0.0] * 5) == 6 / 32
    # on zeros and ones it is McNemar's exact test
    assert sign_flip_test([1.0] * 11 + [0.0] * 3, [0.0] * 11 + [1.0] * 3) == pytest.approx(mcnemar(3, 11))
    assert sign_flip_test(*paired_outcomes(), draws=4000) == pytest.approx(0.04703103, abs=0.012)


def test_training_seeds() -> None:
    assert mean_over_runs(A) == pytest.approx((0.434, 0.396134, 0.471866), abs=1e-6)
    assert mean_over_runs([0.4]) is None
    test = welch(A, B)
    assert (test.difference, test.df, test.p) == pytest.approx((0.058, 7.979229, 0.019068), abs=1e-6)
    assert (test.low, test.high) == pytest.approx((0.012323, 0.103677), abs=1e-6)
    assert permutation_of_means(A, B) == pytest.approx(8 / 252)
    with pytest.raises(ValueError, match="no spread"):
        welch([1.0, 1.0], [0.5, 0.5])


def test_scores_over_tasks() -> None:
    assert interquartile_mean(X) == pytest.approx(0.40833333)
    assert interquartile_mean(np.array([0, 0, 0.1, 0.2, 0.2, 0.5, 0.6, 0.9, 1, 1])) == pytest.approx(0.41666667)
    assert interquartile_mean(np.array([0.1, 0.2, 0.9])) == pytest.approx(0.4)
    assert (optimality_gap(X), optimality_gap(X, goal=0.5)) == pytest.approx((0.5625, 0.175))
    profile = [performance_profile(X, threshold) for threshold in (0, 0.25, 0.5, 0.55, 0.9)]
    assert profile == pytest.approx([11 / 12, 7 / 12, 5 / 12, 4 / 12, 1 / 12])
    assert chance_of_improvement(X, Y) == pytest.approx(0.65277778)
    assert chance_of_improvement(X, X) == pytest.approx(0.5)


def test_a_stratified_bootstrap_spreads_as_theory_says() -> None:
    # the grand mean has the standard deviation .01521451, and is nearly normal: 3.92 of them between the ends
    low, high = bootstrap_over_runs(X, lambda scores: float(scores.mean()), seed=1, repetitions=8000)
    assert high - low == pytest.approx(3.92 * 0.01521451, rel=0.05)
    assert low < 0.4375 < high
    assert math.isclose(*bootstrap_over_runs(np.full((3, 2), 0.5), interquartile_mean, seed=1, repetitions=10))


def test_corrections_keep_the_order_of_their_input() -> None:
    p = [0.010, 0.040, 0.030, 0.005, 0.200]
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.20])
    assert benjamini_hochberg(p) == pytest.approx([0.025, 0.05, 0.05, 0.025, 0.20])
    ten = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    assert holm(ten) == pytest.approx([0.01, 0.072, *[0.312] * 5, *[0.615] * 3])
    assert benjamini_hochberg(ten)[:7] == pytest.approx([0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.105714], abs=1e-6)
