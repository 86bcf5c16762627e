"""Turn credit: rewards to go compared turn by turn, discounts between turns, and where collate puts rewards."""

from __future__ import annotations

import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.algorithms.advantages import gae, grpo, reinforce_plus_plus, rloo, step_discounts, turn_advantages
from engine.rollout.batching import collate, turn_ends, turn_numbers
from tests.engine.algorithms.builders import normal, ragged_mask, seeded, turn_ends_of
from tests.engine.rollout.builders import lake_config, say


def turns_of(row: list[float]) -> list[list[int]]:
    """Columns of each run of sampled tokens."""
    runs: list[list[int]] = []
    for column, on in enumerate(row):
        if on and column and row[column - 1] and runs:
            runs[-1].append(column)
        elif on:
            runs.append([column])
    return runs


def without_std(returns: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    return grpo(returns, groups, mask, scale_by_std=False)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_turns_are_runs_of_sampled_tokens(seed: int) -> None:
    mask = ragged_mask(seeded(seed), rows=5, width=14)
    ends, numbers = turn_ends(mask), turn_numbers(mask)
    assert torch.equal(ends, turn_ends_of(mask))
    for row in range(5):
        runs = turns_of(mask[row].tolist())
        assert ends[row].nonzero().squeeze(-1).tolist() == [run[-1] for run in runs]
        expected = [-1] * 14
        for number, run in enumerate(runs):
            for column in run:
                expected[column] = number
        assert numbers[row].tolist() == expected


def test_rewards_to_go_are_compared_at_the_same_turn() -> None:
    # A: turns with 0 and 1, B: turns with 0 and 0; discount 1/2. To go A 0.5, 1; B 0, 0. Less the mean: ±0.25, ±0.5
    mask = torch.tensor([[1.0, 0, 1, 1], [1.0, 1, 0, 1]])
    rewards = torch.tensor([[0.0, 0, 0, 1], [0.0, 0, 0, 0]])
    found = turn_advantages(rewards, torch.tensor([7, 7]), turn_numbers(mask), turn_discount=0.5, compare=without_std)
    assert found.tolist() == [[0.25, 0, 0.5, 0.5], [-0.25, -0.25, 0, -0.5]]


def test_a_turn_that_one_member_alone_reached_says_nothing() -> None:
    mask = torch.tensor([[1.0, 0, 1], [1.0, 0, 0]])
    rewards = torch.tensor([[0.0, 0, 1], [0.0, 0, 0]])
    found = turn_advantages(rewards, torch.tensor([0, 0]), turn_numbers(mask), turn_discount=1.0, compare=without_std)
    assert found.tolist() == [[0.5, 0, 0], [-0.5, 0, 0]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), discount=st.sampled_from([0.0, 0.5, 1.0]))
def test_turn_comparison_is_its_plain_definition_on_ragged_rows(seed: int, discount: float) -> None:
    generator = seeded(seed)
    mask = ragged_mask(generator, rows=6, width=14)
    groups = torch.randint(0, 3, (6,), generator=generator)
    rewards = normal(generator, 6, 14) * turn_ends(mask)
    runs = [turns_of(row) for row in mask.tolist()]
    to_go: list[list[float]] = []
    for row in range(6):
        earned = [float(rewards[row, run[-1]]) for run in runs[row]]
        to_go.append([sum(discount**j * r for j, r in enumerate(earned[k:])) for k in range(len(earned))])
    expected = torch.zeros(6, 14)
    for row in range(6):
        for k, run in enumerate(runs[row]):
            rest = [to_go[o][k] for o in range(6) if o != row and groups[o] == groups[row] and len(runs[o]) > k]
            if rest:
                expected[row, run] = to_go[row][k] - statistics.fmean(rest)
    found = turn_advantages(rewards, groups, turn_numbers(mask), turn_discount=discount, compare=rloo)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("width", [0, 6])
def test_nothing_sampled_or_nothing_earned_gives_zero(width: int) -> None:
    mask = torch.zeros(3, width)
    groups = torch.tensor([0, 0, 1])
    assert not turn_advantages(mask, groups, turn_numbers(mask), turn_discount=1.0, compare=grpo).any()
    on = torch.ones(3, 6)
    assert not turn_advantages(torch.zeros(3, 6), groups, turn_numbers(on), turn_discount=1.0, compare=grpo).any()


def test_a_turn_discount_counts_once_between_turns_beside_gamma() -> None:
    # one token a turn, then two; from the first to the next 0.5 * 0.9, inside a turn 0.9
    mask = torch.tensor([[1.0, 0, 1, 1]])
    rewards = torch.tensor([[0.0, 0, 0, 1]])
    discounts = step_discounts(mask, turn_ends(mask), gamma=0.9, turn_discount=0.5)
    advantages, _ = gae(rewards, torch.zeros(1, 4), mask, gamma=discounts, lam=1.0)
    torch.testing.assert_close(advantages[mask > 0], torch.tensor([0.405, 0.9, 1.0]))


def test_reward_to_go_with_discounts_by_token_is_that_of_the_same_gamma_everywhere() -> None:
    generator = seeded(3)
    mask, rewards = ragged_mask(generator, rows=4, width=12), normal(generator, 4, 12)
    by_token = step_discounts(mask, turn_ends(mask), gamma=0.7, turn_discount=1.0)
    found = reinforce_plus_plus(rewards * mask, mask, gamma=by_token)
    torch.testing.assert_close(found, reinforce_plus_plus(rewards * mask, mask, gamma=0.7))


def test_turn_rewards_lie_on_the_last_sampled_token_of_each_turn_and_add_up_to_the_score() -> None:
    trajectories = say(lake_config(), ["no answer here", "</think><answer>Right</answer>"])
    batch = collate(trajectories)
    torch.testing.assert_close(batch.rewards.sum(dim=1), batch.scores)
    for row, trajectory in enumerate(trajectories):
        ends = turn_ends(batch.mask)[row].nonzero().squeeze(-1)
        expected = [turn.reward + turn.penalty for turn in trajectory.turns]
        assert batch.rewards[row, ends].tolist() == pytest.approx(expected)
    assert (batch.rewards != 0).any()


def test_the_penalty_of_a_turn_without_a_token_is_not_lost() -> None:
    trajectories = say(lake_config(), ["</think><answer>Right</answer>", []])
    batch = collate(trajectories)
    torch.testing.assert_close(batch.rewards.sum(dim=1), batch.scores)
