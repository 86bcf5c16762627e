"""GAE and bi-level GAE against plain loops over the sampled tokens alone, on ragged batches."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.algorithms.advantages import bi_level_gae, gae, whiten
from tests.engine.algorithms.builders import normal, ragged_mask, seeded, turn_ends_of

shares = st.sampled_from([0.0, 0.5, 0.95, 1.0])


def gae_of_list(rewards: list[float], values: list[float], gamma: float, lam: float) -> list[float]:
    """The definition, for tokens that are all sampled."""
    advantages, following = [0.0] * len(rewards), 0.0
    for t in reversed(range(len(rewards))):
        next_value = values[t + 1] if t + 1 < len(values) else 0.0
        following = rewards[t] + gamma * next_value - values[t] + gamma * lam * following
        advantages[t] = following
    return advantages


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), gamma=shares, lam=shares)
def test_gae_is_the_definition_with_unsampled_tokens_cut_out(seed: int, gamma: float, lam: float) -> None:
    generator = seeded(seed)
    mask = ragged_mask(generator, rows=5, width=14)
    rewards, values = normal(generator, 5, 14), normal(generator, 5, 14)

    found, returns = gae(rewards, values, mask, gamma=gamma, lam=lam)

    for row in range(5):
        on = mask[row].bool()
        expected = gae_of_list(rewards[row, on].tolist(), values[row, on].tolist(), gamma, lam)
        torch.testing.assert_close(found[row, on], torch.tensor(expected), atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(returns[row, on], torch.tensor(expected) + values[row, on], atol=1e-4, rtol=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), gamma=shares, lam=shares, high=shares)
def test_bi_level_gae_is_turns_first_and_tokens_inside_them(seed: int, gamma: float, lam: float, high: float) -> None:
    generator = seeded(seed)
    mask = ragged_mask(generator, rows=4, width=16)
    ends = turn_ends_of(mask)
    rewards, values = normal(generator, 4, 16) * ends, normal(generator, 4, 16)

    found, returns = bi_level_gae(rewards, values, mask, ends, gamma=gamma, lam=lam, high_level_gamma=high)

    for row in range(4):
        last = ends[row].nonzero().squeeze(-1).tolist()
        by_turn = gae_of_list(rewards[row, last].tolist(), values[row, last].tolist(), high, lam)
        began = 0
        for end, advantage in zip(last, by_turn, strict=True):
            tokens = [t for t in range(began, end + 1) if mask[row, t]]
            targets = [0.0] * (len(tokens) - 1) + [advantage + float(values[row, end])]
            expected = torch.tensor(gae_of_list(targets, values[row, tokens].tolist(), gamma, lam))
            torch.testing.assert_close(found[row, tokens], expected, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(returns[row, tokens], expected + values[row, tokens], atol=1e-4, rtol=1e-4)
            began = end + 1


def test_gae_without_discount_is_reward_still_to_come_minus_value() -> None:
    generator = seeded(3)
    mask = ragged_mask(generator, rows=6, width=12)
    rewards, values = normal(generator, 6, 12), normal(generator, 6, 12)
    found, _ = gae(rewards, values, mask, gamma=1.0, lam=1.0)
    to_come = (rewards * mask).flip(1).cumsum(1).flip(1)
    torch.testing.assert_close(found * mask, (to_come - values) * mask, atol=1e-5, rtol=1e-5)


def test_what_lies_on_unsampled_tokens_changes_nothing() -> None:
    generator = seeded(4)
    mask = ragged_mask(generator, rows=6, width=12)
    rewards, values = normal(generator, 6, 12), normal(generator, 6, 12)
    noise = 100 * normal(generator, 6, 12) * (1 - mask)
    quiet, _ = gae(rewards, values, mask, gamma=0.9, lam=0.8)
    noisy, _ = gae(rewards + noise, values + noise, mask, gamma=0.9, lam=0.8)
    torch.testing.assert_close(noisy * mask, quiet * mask, atol=0, rtol=0)


def test_a_row_without_sampled_tokens_has_advantage_0() -> None:
    found, _ = gae(torch.ones(1, 4), torch.ones(1, 4), torch.zeros(1, 4), gamma=1.0, lam=1.0)
    assert found.tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_one_turn_makes_bi_level_gae_ordinary_gae() -> None:
    # the one turn's target is its reward: A_1 + V = (r - V) + V
    mask = torch.tensor([[0.0, 1, 1, 1, 0]])
    rewards, values = torch.tensor([[0.0, 0, 0, 2, 0]]), torch.tensor([[9.0, 0.1, 0.4, 0.2, 9.0]])
    flat, _ = gae(rewards, values, mask, gamma=0.9, lam=0.8)
    nested, _ = bi_level_gae(rewards, values, mask, turn_ends_of(mask), gamma=0.9, lam=0.8, high_level_gamma=0.5)
    torch.testing.assert_close(nested * mask, flat * mask)


def test_bi_level_gae_of_zero_rewards_still_has_turns() -> None:
    # turn ends V = 0.2, 0.4. Turn 2: -0.4, target 0. Turn 1: 0.5 * 0.4 - 0.2 + 0.5 * -0.4 = -0.2, target 0
    mask, values = torch.tensor([[1.0, 1, 0, 1, 1]]), torch.tensor([[0.1, 0.2, 9.0, 0.3, 0.4]])
    found, returns = bi_level_gae(
        torch.zeros(1, 5), values, mask, turn_ends_of(mask), gamma=1.0, lam=1.0, high_level_gamma=0.5
    )
    torch.testing.assert_close(found[0, [0, 1, 3, 4]], torch.tensor([-0.1, -0.2, -0.3, -0.4]))
    torch.testing.assert_close(returns[0, [0, 1, 3, 4]], torch.zeros(4), atol=1e-6, rtol=0)


def test_bi_level_gae_refuses_a_turn_that_ends_on_an_unsampled_token() -> None:
    mask, ends = torch.tensor([[1.0, 1, 0]]), torch.tensor([[0.0, 0, 1]])
    with pytest.raises(ValueError, match="turn_ends marks an unsampled token"):
        bi_level_gae(mask, mask, mask, ends, gamma=1.0, lam=1.0, high_level_gamma=1.0)


def test_whitening_uses_sampled_tokens_only() -> None:
    # of 1, 3: mean 2, unbiased variance 2
    found = whiten(torch.tensor([[1.0, 50.0], [3.0, -50.0]]), torch.tensor([[1.0, 0], [1, 0]]))
    torch.testing.assert_close(found[:, 0], torch.tensor([-(2**-0.5), 2**-0.5]))


@pytest.mark.parametrize("sampled", [0, 1])
def test_whitening_fewer_than_two_tokens_gives_0(sampled: int) -> None:
    mask = torch.zeros(2, 3)
    mask[0, :sampled] = 1
    assert not whiten(torch.full((2, 3), 7.0), mask).any()


@pytest.mark.parametrize("value", [7.0, 10.9, -0.7])
def test_whitening_equal_values_gives_0(value: float) -> None:
    # in float32 the mean of 87 times 10.9 is not 10.9, and what rounding leaves would be scaled up to 0.01
    assert not whiten(torch.full((29, 3), value), torch.ones(29, 3)).any()
