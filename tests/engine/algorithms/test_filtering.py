"""The group filter: strategies, mass modes, degenerate steps, and the threshold it reports."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.algorithms.filters import FILTERS, NoFilter, TopKAbsolute, TopP, filter_from, threshold_of
from engine.algorithms.group_scores import group_scores, on_one_scale
from engine.config import build_config
from engine.errors import ConfigError
from engine.rollout.batching import Batch, collate
from engine.training.group_filter import keep_groups, kept_by_environment
from tests.engine.algorithms.test_credit import batch_of
from tests.engine.rollout.builders import lake_config, roll_out


def kept(scores: list[float], chosen: Any, value: float, **options: Any) -> list[int]:
    return filter_from({"type": chosen, "value": value, **options}).choose(scores)


def test_none_keeps_every_group_even_those_without_variance() -> None:
    assert NoFilter().choose([1.0, 0.0, 2.0]) == [0, 1, 2]


def test_top_p_walks_from_the_most_uncertain_group() -> None:
    # stds 1, 4, 2, 1: squares 1, 16, 4, 1 of 22; 16 + 4 = 20 holds 0.9 * 22 = 19.8
    assert kept([1.0, 4.0, 2.0, 1.0], "top_p", 0.9, epsilon=0.0) == [1, 2]


def test_ragens_mixed_batch_by_std_mass() -> None:
    # 13.55 in all, 12.185 wanted; 5.2 + 4.1 + 3 = 12.3
    assert kept([5.2, 4.1, 0, 0, 0.05, 3, 0, 1.2], "top_p", 0.9, mode="std") == [0, 1, 5]


@pytest.mark.parametrize("mode", ["variance", "std", "softmax"])
def test_a_step_without_signal_keeps_nothing(mode: Any) -> None:
    assert kept([0.0, 0.0, 0.0], "top_p", 0.9, mode=mode) == []


def test_the_slack_is_a_share_of_the_mass_to_keep() -> None:
    # stds 89 and 11 of 100: 89 is less than 0.9 * 100, and as much as 0.9 * 100 * (1 - 0.02) = 88.2
    assert kept([89.0, 11.0], "top_p", 0.9, mode="std", epsilon=0.0) == [0, 1]
    assert kept([89.0, 11.0], "top_p", 0.9, mode="std", epsilon=0.02) == [0]


@pytest.mark.parametrize("mode", ["variance", "std"])
def test_small_returns_train_like_large_ones(mode: Any) -> None:
    # as absolute slack, RAGEN's 0.01 skipped this step: the squares of 0.09 and 0.02 are 0.0085 in all
    assert kept([0.09, 0.02, 0.0], "top_p", 0.9, mode=mode) == kept([9.0, 2.0, 0.0], "top_p", 0.9, mode=mode) != []


def test_zeros_included_in_the_smallest_first_walk_end_it_empty() -> None:
    assert kept([3.0, 0.0, 1.0], "top_p", 0.9, mode="std", largest=False, include_zero=True) == []


def test_smallest_first_takes_the_groups_with_the_lowest_positive_std() -> None:
    # 1 + 3 = 4 of 8 holds 0.5 * 8
    assert kept([4.0, 3.0, 1.0, 0.0], "top_p", 0.5, mode="std", largest=False, epsilon=0.0) == [1, 2]


def test_top_p_of_1_keeps_every_group_with_a_positive_std() -> None:
    assert kept([1.0, 0.0, 0.001], "top_p", 1.0) == [0, 2]
    assert kept([1.0, 0.0, 0.001], "top_p", 1.0, include_zero=True) == [0, 1, 2]


@given(
    scores=st.lists(st.floats(0.125, 5, width=32), min_size=1, max_size=10),
    scale=st.sampled_from([0.25, 4.0]),
    mode=st.sampled_from(["variance", "std"]),
)
def test_mass_modes_do_not_depend_on_the_scale_of_rewards(scores: list[float], scale: float, mode: Any) -> None:
    # scales are powers of two, so that no rounding moves a group over the border
    scaled = [score * scale for score in scores]
    assert kept(scores, "top_p", 0.8, mode=mode) == kept(scaled, "top_p", 0.8, mode=mode)


def test_softmax_depends_on_it_and_keeps_nearly_all_of_close_scores() -> None:
    close = [0.1, 0.2, 0.3, 0.4, 0.5, 0.1, 0.2, 0.3]
    assert len(kept(close, "top_p", 0.9, mode="softmax")) == 8
    assert len(kept([score * 100 for score in close], "top_p", 0.9, mode="softmax")) == 1


def test_softmax_of_a_dead_step_with_zeros_included_keeps_nearly_all() -> None:
    assert len(kept([0.0] * 10, "top_p", 0.9, mode="softmax", include_zero=True)) == 9


@given(
    scores=st.lists(st.floats(0, 5, width=32), min_size=1, max_size=10),
    value=st.floats(0.05, 0.95),
    mode=st.sampled_from(["variance", "std"]),
)
def test_top_p_keeps_the_fewest_groups_that_hold_the_share(scores: list[float], value: float, mode: Any) -> None:
    power = {"variance": 2, "std": 1}[mode]
    found = kept(scores, "top_p", value, mode=mode, epsilon=0.0)
    masses = [score**power if score > 1e-10 else 0.0 for score in scores]
    held = sum(masses[i] for i in found)
    assert held >= value * sum(masses) - 1e-6
    if found:
        assert held - min(masses[i] for i in found) < value * sum(masses) + 1e-6
        assert min(scores[i] for i in found) >= max(
            (scores[i] for i in range(len(scores)) if i not in found), default=0
        )


def test_top_k_is_a_share_of_all_groups_but_never_takes_one_without_variance() -> None:
    assert kept([0.0, 3.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0], "top_k", 0.25) == [1, 3]
    assert kept([0.0, 3.0, 0.0, 0.0], "top_k", 0.75) == [1]
    assert kept([2.0, 3.0], "top_k", 0.1) == [1]  # at least one


def test_top_k_takes_the_share_that_was_meant() -> None:
    # 0.29 * 100 is 28.999999999999996 in floating point
    assert len(kept([float(i + 1) for i in range(100)], "top_k", 0.29)) == 29


def test_top_k_abs_counts_groups() -> None:
    assert kept([1.0, 3.0, 2.0], "top_k_absolute", 2) == [1, 2]
    assert kept([1.0, 3.0, 2.0], "top_k_absolute", 2, largest=False) == [0, 2]


def test_min_p_keeps_what_comes_near_the_best() -> None:
    assert kept([1.0, 0.5, 0.49, 0.0], "min_p", 0.5) == [0, 1]
    assert kept([4.0, 2.0, 1.0], "min_p", 0.5, largest=False) == [1, 2]  # at most 1 / 0.5


@pytest.mark.parametrize(("members", "share"), [(8, 0.66), (16, 0.48)])
def test_min_p_keeps_every_mixed_group_of_rewards_of_0_or_1_up_to_a_share(members: int, share: float) -> None:
    # std with one of n that differs: 1 / sqrt(n); with half of them: sqrt(n / (n - 1)) / 2; 0.661 and 0.484 of it
    solved = [1, members // 2, members - 1]
    stds = [statistics.stdev([1.0] * one + [0.0] * (members - one)) for one in solved]
    assert kept(stds, "min_p", share) == [0, 1, 2]
    assert kept(stds, "min_p", share + 0.01) == [1]


def test_ties_go_to_the_lower_index() -> None:
    assert kept([1.0, 1.0, 1.0, 1.0], "top_k", 0.5) == [0, 1]
    assert kept([1.0, 1.0, 1.0, 1.0], "top_k", 0.5, largest=False) == [0, 1]


def test_a_score_that_is_not_a_number_is_never_kept() -> None:
    assert kept([float("nan"), 1.0], "top_p", 0.9) == [1]


def test_the_threshold_is_the_score_of_the_last_group_kept() -> None:
    scores = [1.0, 4.0, 2.0]
    assert threshold_of(scores, [1, 2]) == 2.0
    assert threshold_of(scores, [0, 2], largest=False) == 2.0
    assert threshold_of(scores, []) == 0.0


@pytest.mark.parametrize(
    ("metric", "expected"),
    # groups 3: (1, 3), 5: (2,), 9: (0.1, 0.1, 0.1)
    [
        ("reward_variance", [2**0.5, 0.0, 0.0]),
        ("reward_mean", [2.0, 2.0, 0.1]),
        ("reward_sum", [4.0, 2.0, 0.3]),
    ],
)
def test_group_scores_come_in_order_of_group_id(metric: Any, expected: list[float]) -> None:
    returns: Tensor = torch.tensor([0.1, 1.0, 0.1, 2.0, 3.0, 0.1])
    groups = torch.tensor([9, 3, 9, 5, 3, 9])
    torch.testing.assert_close(group_scores(returns, groups, metric), torch.tensor(expected))


def test_equal_returns_have_a_std_of_exactly_0() -> None:
    assert group_scores(torch.full((7,), 0.1), torch.zeros(7)).tolist() == [0.0]


def test_scores_of_entropy_and_length_are_means_and_stds() -> None:
    # 1, 3 and 5: mean 3, squares 4 + 0 + 4 over 2 is 4
    values, groups = torch.tensor([1.0, 3.0, 5.0, 7.0]), torch.tensor([4, 4, 4, 9])
    assert group_scores(values, groups, "entropy").tolist() == [3.0, 7.0]
    assert group_scores(values, groups, "length").tolist() == [3.0, 7.0]
    assert group_scores(values, groups, "entropy_variance").tolist() == pytest.approx([2.0, 0.0])


def test_only_a_filter_with_a_choice_selects_and_only_by_returns_it_drops_equal_ones() -> None:
    for name in FILTERS:
        one = filter_from({"type": name})
        assert (one.selects, one.drops_equal_returns, one.prefers_largest) == (name != "none", name != "none", True)
    assert not TopP(metric="entropy").drops_equal_returns
    assert not TopP(include_zero=True).drops_equal_returns
    assert not TopP(largest=False).prefers_largest


def test_the_loss_is_scaled_by_the_kept_share_or_its_root() -> None:
    scalings: tuple[Any, ...] = ("none", "linear", "sqrt")
    assert [TopP(loss_scaling=scaling).scale(0.25) for scaling in scalings] == [1.0, 0.25, 0.5]
    assert NoFilter().scale(0.25) == 1.0


@pytest.mark.parametrize("metric", ["entropy", "length"])
@pytest.mark.parametrize("largest", [True, False])
def test_the_group_of_the_largest_or_smallest_mean_is_kept(metric: Any, largest: bool) -> None:
    trajectories = roll_out(lake_config(rollout={"groups": 3}))
    means: dict[int, float] = {}
    for group in {trajectory.group for trajectory in trajectories}:
        members = [trajectory for trajectory in trajectories if trajectory.group == group]
        tokens = [float(member.response_tokens) for member in members]
        entropies = [sum(member.entropies) / member.response_tokens for member in members]
        means[group] = sum(tokens if metric == "length" else entropies) / len(members)
    config = TopKAbsolute(value=1, metric=metric, largest=largest, loss_scaling="linear")
    kept = keep_groups(config, collate(trajectories))
    best = (max if largest else min)(means, key=means.__getitem__)
    assert kept.groups == [best]
    assert kept.metrics["filter/threshold"] == pytest.approx(means[best], rel=1e-5)
    assert kept.scale == pytest.approx(1 / 3)


def half_solved() -> Batch:
    """Two groups of four of an environment that pays 10.5 or takes 1, and two of one that pays 1 or nothing."""
    returns = [10.5, -1.0, 10.5, -1.0] * 2 + [1.0, 0.0, 1.0, 0.0] * 2
    groups = [index // 4 for index in range(16)]
    batch = batch_of(torch.ones(16, 1), returns, groups=groups)
    return replace(batch, tags=torch.tensor([0] * 8 + [1] * 8))


def test_returns_of_several_environments_are_compared_on_one_scale() -> None:
    # by 10.5 and by 1; an environment that pays nothing at all keeps its noughts
    returns = torch.tensor([10.5, -1.0, 1.0, 0.0, 0.0, 0.0])
    found = on_one_scale(returns, torch.tensor([0, 0, 1, 1, 2, 2]))
    torch.testing.assert_close(found, torch.tensor([1.0, -1 / 10.5, 1.0, 0.0, 0.0, 0.0]))
    assert on_one_scale(returns, torch.zeros(6)) is returns


@pytest.mark.parametrize(("chosen", "value"), [("top_p", 0.9), ("min_p", 0.2)])
def test_an_environment_that_pays_less_trains_as_one_that_pays_more(chosen: str, value: float) -> None:
    batch = half_solved()
    kept = keep_groups(filter_from({"type": chosen, "value": value}), batch)
    # stds of 6.64 and 0.58, on one scale 0.63 and 0.58: both environments keep groups
    assert kept.groups == [0, 1, 2, 3]
    assert kept_by_environment(batch, kept, ["Sokoban", "FrozenLake"]) == {
        "env/Sokoban/kept_ratio": 1.0,
        "env/FrozenLake/kept_ratio": 1.0,
    }


def test_the_kept_share_of_each_environment_is_reported_when_there_are_several() -> None:
    batch = half_solved()
    kept = keep_groups(TopKAbsolute(value=3), batch)
    shares = kept_by_environment(batch, kept, ["Sokoban", "FrozenLake"])
    assert shares == {"env/Sokoban/kept_ratio": 1.0, "env/FrozenLake/kept_ratio": 0.5}
    assert kept_by_environment(batch, kept, ["Sokoban"]) == {}


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"type": "top_k_absolute", "value": 2.5}, "value: must be a whole number"),
        ({"type": "top_k_absolute", "value": 0}, "value: .*1 or more"),
        ({"type": "top_p", "value": 2}, "value: .*1 or less"),
        ({"type": "min_p", "metric": "reward_sum"}, "metric: must be one of 'reward_variance'"),  # may be negative
        ({"type": "top_k", "mode": "std"}, "mode: unknown field"),
        ({"type": "none", "value": 0.9}, "value: unknown field"),
    ],
)
def test_a_filter_has_only_the_settings_that_it_reads(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=rf"  filter\.{field}"):
        build_config({"filter": settings})
