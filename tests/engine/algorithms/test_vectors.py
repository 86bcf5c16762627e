"""Numbers worked out for StarPO's estimators, loss and filter; each is derived or comes from RAGEN's own functions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.algorithms import advantages
from engine.algorithms.filters import TopP
from engine.algorithms.losses import policy_loss

VALUES = torch.arange(1, 11, dtype=torch.float32)[None] / 10
MASK = torch.tensor([[1.0, 1, 0, 0, 1, 1, 0, 0, 1, 1]])


def reward_at(*positions: int) -> Tensor:
    rewards = torch.zeros(1, 10)
    rewards[0, list(positions)] = 1.0
    return rewards


def test_gae_without_discount_is_return_minus_value_on_sampled_tokens() -> None:
    found, _ = advantages.gae(2 * reward_at(9), VALUES, MASK, gamma=1.0, lam=1.0)
    expected = [1.9, 1.8, 1.5, 1.5, 1.5, 1.4, 1.1, 1.1, 1.1, 1.0]
    torch.testing.assert_close(found[0], torch.tensor(expected))


def test_gae_with_discount_passes_over_environment_tokens() -> None:
    found, _ = advantages.gae(2 * reward_at(9), VALUES, MASK, gamma=0.9, lam=0.95)
    expected = [0.9112, 0.9721, 0.8446, 0.8446, 0.8446, 0.9410, 0.8550, 0.8550, 0.8550, 1.0]
    torch.testing.assert_close(found[0], torch.tensor(expected), atol=1e-4, rtol=0)


def test_whitening_has_mean_0_and_variance_1_over_the_mask() -> None:
    raw, _ = advantages.gae(2 * reward_at(9), VALUES, MASK, gamma=1.0, lam=1.0)
    expected = [1.2433, 0.967, 0.1381, 0.1381, 0.1381, -0.1381, -0.967, -0.967, -0.967, -1.2433]
    torch.testing.assert_close(advantages.whiten(raw, MASK)[0], torch.tensor(expected), atol=1e-4, rtol=0)


def test_bi_level_gae_targets_each_turn_from_the_next_turns_value() -> None:
    everywhere = torch.ones(1, 10)
    ends = reward_at(4, 9)
    found, returns = advantages.bi_level_gae(
        ends.clone(), VALUES, everywhere, ends, gamma=1.0, lam=1.0, high_level_gamma=0.95
    )
    # turn 2: target 1.0; turn 1: 1 + 0.95 * V_9 + 0.95 * (1 - V_9) = 1.95
    torch.testing.assert_close(returns[0], torch.tensor([1.95] * 5 + [1.0] * 5))
    expected = [1.85, 1.75, 1.65, 1.55, 1.45, 0.4, 0.3, 0.2, 0.1, 0.0]
    torch.testing.assert_close(found[0], torch.tensor(expected))


def test_bi_level_gae_works_when_every_reward_is_zero() -> None:
    ends = reward_at(5, 9)
    found, returns = advantages.bi_level_gae(
        torch.zeros(1, 10), VALUES, MASK, ends, gamma=1.0, lam=1.0, high_level_gamma=0.95
    )
    torch.testing.assert_close(returns[0, 9], torch.tensor(0.0))
    assert torch.isfinite(found).all()


SCORES = torch.tensor([10.9, -1.0, -1.0, -0.9])
ONE_GROUP, ONE_TOKEN = torch.zeros(4, dtype=torch.long), torch.ones(4, 1)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (advantages.grpo(SCORES, ONE_GROUP, ONE_TOKEN), [1.5, -0.5056, -0.5056, -0.4887]),
        (advantages.grpo(SCORES, ONE_GROUP, ONE_TOKEN, scale_by_std=False), [8.9, -3.0, -3.0, -2.9]),
        (advantages.rloo(SCORES, ONE_GROUP, ONE_TOKEN), [11.8667, -4.0, -4.0, -3.8667]),
    ],
    ids=["grpo", "dr_grpo", "rloo"],
)
def test_group_relative_advantages_of_one_success_among_four(found: Tensor, expected: list[float]) -> None:
    torch.testing.assert_close(found[:, 0], torch.tensor(expected), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("advantage", "ratio", "expected"),
    # A=+1 clips above 1.28; A=-1 clips below 0.8 and is bounded at 3 by the dual clip
    [(1, 0.5, -0.5), (1, 1.5, -1.28), (-1, 0.5, 0.8), (-1, 1.5, 1.5), (-1, 3.5, 3.0)],
)
def test_the_clipped_loss_of_one_token(advantage: float, ratio: float, expected: float) -> None:
    one = torch.ones(1, 1)
    found = policy_loss(
        torch.log(one * ratio), one * 0, one * advantage, one, clip_low=0.2, clip_high=0.28, dual_clip=3.0,
        aggregation="token_mean",
    )  # fmt: skip
    torch.testing.assert_close(found.loss, torch.tensor(expected))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([10, 1, 0, 0], [0]), ([4, 2, 0, 0], [0, 1]), ([3, 1, 1, 0], [0, 1, 2]), ([0, 0, 0], [])],
)
def test_top_p_by_std_mass_as_ragen_walks_it(scores: list[float], expected: list[int]) -> None:
    assert TopP(value=0.9, mode="std", epsilon=0.01).choose(scores) == expected


def test_top_p_by_softmax_keeps_the_shortest_prefix_that_reaches_p() -> None:
    assert len(TopP(value=0.6, mode="softmax").choose([1.0, 1.0, 1.0])) == 2


def test_top_p_with_zeros_included_counts_their_mass_as_none() -> None:
    assert TopP(value=0.6, mode="std", include_zero=True).choose([4.0, 3.0, 2.0, 1.0]) == [0, 1]


def test_top_p_by_variance_mass_needs_fewer_groups_than_by_std_mass() -> None:
    # squares 16, 4, 1, 1 of 22: 16 + 4 = 20 >= 0.9 * 22 = 19.8; stds 4, 2, 1, 1 of 8: 4 + 2 + 1 = 7 < 7.2 needs all
    scores = [4.0, 2.0, 1.0, 1.0]
    assert TopP(value=0.9, mode="variance", epsilon=0.0).choose(scores) == [0, 1]
    assert TopP(value=0.9, mode="std", epsilon=0.0).choose(scores) == [0, 1, 2, 3]
