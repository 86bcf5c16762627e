"""Weights of advantages by std and by length."""

from __future__ import annotations

import torch

from engine.algorithms.reweighting import length_weights, reward_std_weights
from tests.engine.algorithms.test_credit import advantages, batch_of

TWO_PROBLEMS = torch.ones(4, 1)


def test_groups_are_weighted_by_their_std_over_the_largest() -> None:
    # group 7: returns 0 and 4, std 4/sqrt(2); group 3: 1 and 2, std 1/sqrt(2), a quarter of it
    weights = reward_std_weights(torch.tensor([0.0, 1.0, 4.0, 2.0]), torch.tensor([7, 3, 7, 3]))
    torch.testing.assert_close(weights, torch.tensor([1.0, 0.25, 1.0, 0.25]), atol=1e-5, rtol=0)


def test_zero_variance_groups_count_nothing_and_a_step_of_them_has_no_weight_at_all() -> None:
    groups = torch.tensor([0, 0, 1, 1])
    assert reward_std_weights(torch.tensor([1.0, 1.0, 0.0, 2.0]), groups)[:2].tolist() == [0.0, 0.0]
    assert reward_std_weights(torch.ones(4), groups).tolist() == [0.0] * 4


def test_a_trajectory_twice_as_long_as_the_mean_counts_half() -> None:
    # 1, 2 and 3 sampled tokens: mean 2. The last row has none and is no part of the mean.
    mask = torch.tensor([[1.0, 0, 0, 0], [1.0, 0, 1, 0], [1.0, 1, 1, 0], [0.0, 0, 0, 0]])
    torch.testing.assert_close(length_weights(mask), torch.tensor([2.0, 1.0, 2 / 3, 0.0]))


def test_nothing_sampled_at_all_weighs_nothing() -> None:
    assert length_weights(torch.zeros(2, 3)).tolist() == [0.0, 0.0]


def test_advantages_are_multiplied_by_the_weight_of_their_group() -> None:
    batch = batch_of(TWO_PROBLEMS, [0.0, 4.0, 1.0, 2.0], groups=[0, 0, 1, 1])
    found = advantages("dr_grpo", batch, soft_reweighting=True)
    # less the group's mean: -2, 2, -1/2, 1/2; times 1 and 1/4
    torch.testing.assert_close(found.squeeze(1), torch.tensor([-2.0, 2.0, -0.125, 0.125]), atol=1e-5, rtol=0)


def test_advantages_carry_the_weight_of_their_length() -> None:
    mask = torch.tensor([[1.0, 0, 0], [1.0, 1, 1]])
    found = advantages("dr_grpo", batch_of(mask, [1.0, 0.0]), length_weighting=True)
    # ±1/2 times 2/1 and 2/3
    torch.testing.assert_close(found, torch.tensor([[1.0, 0, 0], [-1 / 3, -1 / 3, -1 / 3]]))
