"""Estimators without a critic: GRPO, Dr. GRPO, RLOO, REINFORCE++ and its baseline."""

from __future__ import annotations

import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.algorithms.advantages import grpo, reinforce_plus_plus, reinforce_plus_plus_baseline, rloo, whiten
from engine.algorithms.group_scores import group_scores
from tests.engine.algorithms.builders import normal, ragged_mask, seeded

batches = st.lists(st.tuples(st.floats(-5, 5, width=32), st.integers(0, 3)), min_size=1, max_size=12)


def column(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def others_of(index: int, batch: list[tuple[float, int]]) -> list[float]:
    return [value for other, (value, group) in enumerate(batch) if group == batch[index][1] and other != index]


@settings(max_examples=60, deadline=None)
@given(batch=batches)
def test_grpo_centres_and_scales_by_the_group(batch: list[tuple[float, int]]) -> None:
    expected = []
    for index, (value, _) in enumerate(batch):
        members = [value, *others_of(index, batch)]
        alone = len(members) == 1
        mean = 0.0 if alone else statistics.fmean(members)
        std = 1.0 if alone else statistics.stdev(members)
        expected.append((value - mean) / (std + 1e-6))
    found = grpo(column([v for v, _ in batch]), torch.tensor([g for _, g in batch]), torch.ones(len(batch), 1))
    torch.testing.assert_close(found[:, 0], column(expected), atol=1e-3, rtol=1e-3)


@settings(max_examples=60, deadline=None)
@given(batch=batches)
def test_rloo_subtracts_the_mean_of_the_others(batch: list[tuple[float, int]]) -> None:
    expected = [value - statistics.fmean(others_of(index, batch) or [0.0]) for index, (value, _) in enumerate(batch)]
    found = rloo(column([v for v, _ in batch]), torch.tensor([g for _, g in batch]), torch.ones(len(batch), 1))
    torch.testing.assert_close(found[:, 0], column(expected), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, -0.7, 1e6])
def test_a_group_of_equal_returns_has_advantage_exactly_0(value: float) -> None:
    # 0.1 seven times: a float32 sum rounds, and rounding over a std of rounding would be of order 1
    returns, groups, mask = torch.full((7,), value), torch.zeros(7, dtype=torch.long), torch.ones(7, 2)
    for found in (
        grpo(returns, groups, mask),
        grpo(returns, groups, mask, scale_by_std=False),
        rloo(returns, groups, mask),
    ):
        assert not found.any()


def test_group_ids_need_not_be_contiguous_or_sorted() -> None:
    returns, groups = column([1.0, 5.0, 3.0, 7.0]), torch.tensor([40, -2, 40, -2])
    found = grpo(returns, groups, torch.ones(4, 1), scale_by_std=False)
    assert found[:, 0].tolist() == [-1.0, -1.0, 1.0, 1.0]


def test_advantages_lie_on_sampled_tokens_only() -> None:
    mask = torch.tensor([[1.0, 0, 1], [0, 0, 0]])
    returns, groups = column([2.0, 0.0]), torch.zeros(2, dtype=torch.long)
    assert grpo(returns, groups, mask, scale_by_std=False).tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    # the row without a token counts as the other of the first
    assert rloo(returns, groups, mask).tolist() == [[2.0, 0.0, 2.0], [0.0, 0.0, 0.0]]


def test_reinforce_plus_plus_whitens_the_discounted_reward_to_go_over_gaps() -> None:
    # sampled tokens see 0.25, 0.5, 1.0 (the gap is not discounted); mean 7/12, unbiased variance 7/48
    rewards, mask = torch.tensor([[0.0, 0, 0, 1]]), torch.tensor([[1.0, 1, 0, 1]])
    found = reinforce_plus_plus(rewards, mask, gamma=0.5)
    scale = (7 / 48) ** 0.5
    expected = [(0.25 - 7 / 12) / scale, (0.5 - 7 / 12) / scale, 0.0, (1.0 - 7 / 12) / scale]
    torch.testing.assert_close(found[0], column(expected))


def test_reinforce_plus_plus_within_turns_credits_only_the_rewarded_turn() -> None:
    # sampled tokens see 0, 0, 1: mean 1/3, unbiased variance 1/3
    rewards, mask = torch.tensor([[0.0, 0, 0, 1]]), torch.tensor([[1.0, 1, 0, 1]])
    found = reinforce_plus_plus(rewards, mask, gamma=0.5, across_turns=False)
    scale = (1 / 3) ** 0.5
    torch.testing.assert_close(found[0], column([-1 / 3 / scale, -1 / 3 / scale, 0.0, 2 / 3 / scale]))


def test_reinforce_plus_plus_baseline_whitens_group_centred_returns_by_token() -> None:
    generator = seeded(5)
    mask = ragged_mask(generator, rows=6, width=9)
    returns, groups = normal(generator, 6), torch.tensor([0, 0, 0, 1, 1, 2])
    centred = torch.stack([*(returns[:3] - returns[:3].mean()), *(returns[3:5] - returns[3:5].mean()), returns[5]])
    expected = whiten(centred[:, None].expand(6, 9), mask) * mask
    torch.testing.assert_close(reinforce_plus_plus_baseline(returns, groups, mask), expected, atol=1e-5, rtol=1e-5)


def test_all_zero_rewards_give_zero_advantages_everywhere() -> None:
    zeros, groups, mask = torch.zeros(4), torch.tensor([0, 0, 1, 1]), ragged_mask(seeded(1), rows=4, width=8)
    for found in (
        grpo(zeros, groups, mask),
        rloo(zeros, groups, mask),
        reinforce_plus_plus(torch.zeros(4, 8), mask, gamma=0.9),
        reinforce_plus_plus_baseline(zeros, groups, mask),
    ):
        assert not found.any()


def test_whole_number_returns_are_not_rounded() -> None:
    # mean 0.5, unbiased std sqrt(0.5)
    whole, groups, mask = torch.tensor([0, 1]), torch.zeros(2), torch.ones(2, 1)
    assert rloo(whole, groups, mask)[:, 0].tolist() == [-1.0, 1.0]
    torch.testing.assert_close(grpo(whole, groups, mask)[:, 0], column([-(0.5**0.5), 0.5**0.5]), atol=1e-5, rtol=0)
    torch.testing.assert_close(group_scores(whole, groups), column([0.5**0.5]))
