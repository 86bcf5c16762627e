"""Success over several samples per prompt, worked out by hand."""

from __future__ import annotations

from statistics import stdev

import pytest

from engine.statistics.clustered import cluster_error, rerun_error, success_interval

EQUAL = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]]


def test_with_equal_clusters_the_error_is_that_of_their_means() -> None:
    assert cluster_error(EQUAL) == pytest.approx(0.21347814, abs=1e-8)
    assert cluster_error(EQUAL) == pytest.approx(stdev([1, 0, 0.5, 0.75]) / 2)
    # variances within 0, 0, 1/3 and 1/4, each over 4 samples: sqrt(7/48) / 4
    assert rerun_error(EQUAL) == pytest.approx((7 / 48) ** 0.5 / 4)


def test_unequal_clusters() -> None:
    # mean 5/9, deviations 2 - 15/9, 0 - 10/9, 3 - 20/9 = 3/9, -10/9, 7/9; sqrt(158/81 x 3/2) / 9
    assert cluster_error([[1, 1, 0], [0, 0], [1, 1, 1, 0]]) == pytest.approx((158 / 81 * 1.5) ** 0.5 / 9)


def test_too_few_clusters_or_samples_have_no_error() -> None:
    assert cluster_error([[1, 0, 1]]) is None
    assert rerun_error([[1, 0], [1]]) is None


def test_copies_of_every_sample_do_not_narrow_the_error() -> None:
    assert cluster_error([cluster * 3 for cluster in EQUAL]) == pytest.approx(cluster_error(EQUAL))


def test_one_sample_per_prompt_has_wilsons_interval() -> None:
    interval = success_interval([[1]] * 61 + [[0]] * 195)
    assert (interval.low, interval.high) == pytest.approx((0.190205, 0.294096), abs=1e-6)
    assert interval.method == "wilson"


def test_samples_of_one_prompt_are_no_independent_trials() -> None:
    # 256 prompts, solved four times of four or never: as wide as t over 256 prompts, not as Wilson over 1024
    clustered = success_interval([[1] * 4] * 61 + [[0] * 4] * 195)
    single = success_interval([[1]] * 61 + [[0]] * 195)
    assert clustered.method == "t_over_prompts"
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.02)


def test_ends_are_cut_at_0_and_1() -> None:
    few = success_interval(EQUAL)  # .5625 +- t(3) 3.182446 x .21347814 = .679
    assert (few.rate, few.low, few.high) == (0.5625, 0.0, 1.0)


@pytest.mark.parametrize("cluster", [[0, 0], [1, 1], [1, 0], [1] * 15 + [0] * 7])
def test_equal_rates_on_all_prompts_still_have_a_width(cluster: list[int]) -> None:
    interval = success_interval([cluster] * 10)
    assert interval.method == "wilson_over_prompts"
    assert interval.high - interval.low > 0.25


@pytest.mark.parametrize("clusters", [[], [[1], []]])
def test_a_prompt_without_samples_is_refused(clusters: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="at least one scored sample"):
        success_interval(clusters)
