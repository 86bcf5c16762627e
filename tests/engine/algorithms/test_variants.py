"""Every setting of an algorithm reaches its formula: `assign` gives what the plain function gives for those numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from engine.algorithms import advantages as plain
from engine.algorithms.variants import ALGORITHMS
from engine.rollout.batching import Batch, turn_ends, turn_numbers
from tests.engine.algorithms.builders import normal, seeded
from tests.engine.training.builders import made_up_batch

TURNS = {"credit": {"type": "turn", "discount": 0.5}}


def batch_of_turns() -> Batch:
    """Rewards at the end of each turn, of four sampled tokens as a rule; two to a group."""
    batch, draw = made_up_batch(), seeded(1)
    rewards = normal(draw, *batch.mask.shape) * turn_ends(batch.sampled)
    return replace(batch, rewards=rewards, baselines=normal(draw, len(batch)))


def values_of(batch: Batch) -> Tensor:
    return normal(seeded(2), *batch.mask.shape) * batch.mask


def discounts(batch: Batch, *, gamma: float) -> Tensor:
    """Worked out token by token: gamma, and half of it from the last token of a turn."""
    last = [
        [on and not after for on, after in zip(row, [*row[1:], 0.0], strict=True)] for row in batch.sampled.tolist()
    ]
    return torch.tensor([[gamma * (0.5 if end else 1.0) for end in row] for row in last])


def whitened(advantages: Tensor, batch: Batch) -> Tensor:
    return plain.whiten(advantages, batch.mask) * batch.mask


def by_turn(compare: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[[Batch], Tensor]:
    return lambda batch: plain.turn_advantages(
        batch.rewards, batch.groups, turn_numbers(batch.sampled), turn_discount=0.5, compare=compare
    )


def gae_of_turns(batch: Batch) -> Tensor:
    found, _ = plain.gae(batch.rewards, values_of(batch), batch.mask, gamma=discounts(batch, gamma=0.9), lam=0.8)
    return whitened(found, batch)


def gae_of_two_levels(batch: Batch) -> Tensor:
    ends = turn_ends(batch.sampled)
    found, _ = plain.bi_level_gae(
        batch.rewards, values_of(batch), batch.mask, ends, gamma=0.9, lam=0.8, high_level_gamma=0.7
    )
    return whitened(found, batch)


def reward_to_go(batch: Batch) -> Tensor:
    return plain.reinforce_plus_plus(batch.rewards, batch.mask, gamma=discounts(batch, gamma=0.9))


def centred_by_turn(batch: Batch) -> Tensor:
    return whitened(by_turn(partial(plain.grpo, scale_by_std=False))(batch), batch)


SETTINGS: Mapping[str, tuple[dict[str, Any], Callable[[Batch], Tensor]]] = {
    "ppo": ({"gamma": 0.9, "lam": 0.8, **TURNS}, gae_of_turns),
    "bi_level_gae": (
        {"gamma": 0.9, "lam": 0.8, "high_level_gamma": 0.7, "credit": {"type": "turn"}},
        gae_of_two_levels,
    ),
    "reinforce_plus_plus": ({"gamma": 0.9, **TURNS}, reward_to_go),
    "reinforce_plus_plus_baseline": (TURNS, centred_by_turn),
    "grpo": (TURNS, by_turn(plain.grpo)),
    "dr_grpo": (TURNS, by_turn(partial(plain.grpo, scale_by_std=False))),
    "rloo": (TURNS, by_turn(plain.rloo)),
    "remax": ({}, lambda batch: plain.remax(batch.scores, batch.baselines, batch.mask)),
}


def test_every_algorithm_is_here() -> None:
    assert SETTINGS.keys() == ALGORITHMS.keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_an_algorithm_assigns_what_its_formula_gives_with_its_settings(name: str) -> None:
    settings, formula = SETTINGS[name]
    batch = batch_of_turns()
    estimate = ALGORITHMS[name](**settings).assign(batch, values_of(batch))
    assert estimate.advantages.abs().sum() > 0
    torch.testing.assert_close(estimate.advantages, formula(batch), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "name", [name for name, (settings, _) in SETTINGS.items() if settings.items() >= TURNS.items()]
)
def test_turns_are_not_discounted_by_default(name: str) -> None:
    batch = batch_of_turns()
    by_default, one = (
        ALGORITHMS[name](credit=credit).assign(batch, values_of(batch)).advantages
        for credit in ({"type": "turn"}, {"type": "turn", "discount": 1.0})
    )
    assert torch.equal(by_default, one)


@pytest.mark.parametrize("name", [name for name, (settings, _) in SETTINGS.items() if settings == TURNS])
def test_masked_tokens_of_a_response_are_credited_with_nothing(name: str) -> None:
    batch = batch_of_turns()
    masked = replace(batch, mask=batch.mask * (torch.arange(batch.mask.shape[1]) % 5 != 1))
    assert masked.mask.sum() < batch.mask.sum()
    advantages = ALGORITHMS[name](**TURNS).assign(masked, None).advantages
    assert not (advantages * (1 - masked.mask)).any()


@pytest.mark.parametrize(
    ("name", "field"),
    [(name, field) for name, (settings, _) in SETTINGS.items() for field in ("gamma", "lam", "high_level_gamma")
     if field in settings],
)  # fmt: skip
def test_a_discount_lies_between_0_and_1(name: str, field: str) -> None:
    for allowed in (0.0, 1.0):
        assert getattr(ALGORITHMS[name](**{field: allowed}), field) == allowed
    for refused in (-0.01, 1.01):
        with pytest.raises(ValidationError, match=field):
            ALGORITHMS[name](**{field: refused})
