"""From a batch to advantages by the configured algorithm: by hand, and on steps without a signal."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from engine.algorithms.variants import ALGORITHMS
from engine.algorithms.variants.base import AlgorithmBase
from engine.algorithms.variants.bi_level_gae import BiLevelGae
from engine.algorithms.variants.ppo import Ppo
from engine.config import build_config
from engine.errors import ConfigError
from engine.rollout.batching import Batch, last_token_rewards
from engine.training.credit import assign_credit
from tests.engine.algorithms.builders import every_credit, normal, ragged_mask, seeded

MASK = torch.tensor([[1.0, 0, 1], [1.0, 1, 0]])


def batch_of(
    mask: Tensor, scores: list[float], *, groups: list[int] | None = None, baselines: list[float] | None = None
) -> Batch:
    rows, flat = len(mask), torch.tensor(scores)
    return Batch(
        ids=torch.zeros_like(mask, dtype=torch.long),
        mask=mask,
        sampled=mask,
        logprobs=torch.zeros_like(mask),
        sampler_logprobs=torch.zeros_like(mask),
        contexts=torch.zeros_like(mask, dtype=torch.long),
        lengths=torch.full((rows,), mask.shape[1]),
        scores=flat,
        returns=flat,
        rewards=last_token_rewards(flat, mask),
        entropies=torch.zeros(rows),
        baselines=torch.tensor(baselines or [0.0] * rows),
        groups=torch.tensor(groups or [0] * rows),
        tags=torch.zeros(rows, dtype=torch.long),
    )


def advantages(algorithm: str, batch: Batch, *, kl: Tensor | None = None, **fields: Any) -> Tensor:
    settings = ALGORITHMS[algorithm].model_validate(fields)
    assert isinstance(settings, AlgorithmBase)
    return assign_credit(settings, batch, torch.zeros_like(batch.mask), kl).advantages


def test_each_algorithm_by_hand_for_one_success_and_one_failure() -> None:
    batch = batch_of(MASK, [1.0, 0.0], baselines=[0.25, 0.25])
    # mean 1/2, std 1/sqrt(2): ±1/sqrt(2), ±1/2, less the other's ±1; against 1/4: 3/4 and -1/4
    for algorithm, high, low in (
        ("grpo", 0.7071, -0.7071),
        ("dr_grpo", 0.5, -0.5),
        ("rloo", 1.0, -1.0),
        ("remax", 0.75, -0.25),
    ):
        expected = torch.tensor([[high, 0, high], [low, low, 0]])
        torch.testing.assert_close(advantages(algorithm, batch), expected, atol=1e-4, rtol=0)


def test_bi_level_gae_discounts_by_turn_whatever_the_length_of_a_turn() -> None:
    # a reward of 1 at the end of turn 2, values 0: turn 1 looks at it through one discount of 1/2
    config = BiLevelGae(high_level_gamma=0.5)
    batch = batch_of(torch.tensor([[1.0, 1, 0, 1, 1]]), [1.0])
    returns = assign_credit(config, batch, torch.zeros(1, 5)).returns
    # values of 0 have nothing to discount but advantages: lam 1 hands on 0.5 * A_2
    assert returns is not None
    assert returns[0, [0, 1, 3, 4]].tolist() == [0.5, 0.5, 1.0, 1.0]


def test_kl_in_reward_is_charged_to_the_trajectory_or_to_what_comes_after_a_token() -> None:
    batch = batch_of(MASK, [1.0, 0.0])
    kl = torch.tensor([[2.0, 9.0, 0.0], [0.0, 0.0, 9.0]])  # 9 lies where nothing was sampled
    # 0.1 * 2 off the first: 0.8 against 0, mean 0.4
    found = advantages("dr_grpo", batch, kl=kl, kl_in_reward=0.1)
    torch.testing.assert_close(found, torch.tensor([[0.4, 0, 0.4], [-0.4, -0.4, 0]]))
    config = Ppo(kl_in_reward=0.1)
    returns = assign_credit(config, batch, torch.zeros_like(MASK), kl).returns
    assert returns is not None
    # the token that costs is before the last one, which still looks at 1
    torch.testing.assert_close(returns[MASK > 0], torch.tensor([0.8, 1.0, 0.0, 0.0]))


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_no_algorithm_charges_kl_to_rewards_or_keeps_a_reference_unless_a_setting_asks_for_it(algorithm: str) -> None:
    config = build_config({"algorithm": {"type": algorithm}})
    assert config.algorithm.reward_kl == 0.0
    assert not config.needs_reference


@pytest.mark.parametrize(("algorithm", "fields"), every_credit())
def test_zero_rewards_ragged_rows_lone_groups_and_rows_without_tokens_give_zero(
    algorithm: str, fields: dict[str, Any]
) -> None:
    mask = ragged_mask(seeded(1), rows=5, width=11)
    batch = batch_of(mask, [0.0] * 5, groups=[0, 0, 1, 2, 2])
    assert not advantages(algorithm, batch, **fields).any()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_advantages_are_finite_and_lie_on_sampled_tokens_alone(algorithm: str, seed: int) -> None:
    generator = seeded(seed)
    mask = ragged_mask(generator, rows=5, width=11)
    batch = batch_of(mask, normal(generator, 5).tolist(), groups=[0, 0, 1, 2, 2])
    found = advantages(algorithm, batch)
    assert torch.isfinite(found).all()
    assert torch.equal(found * mask, found)
    assert found.any()


@pytest.mark.parametrize(
    ("algorithm", "field"),
    [
        ({"type": "remax", "credit": {"type": "turn"}}, "credit"),
        ({"type": "remax", "kl_in_reward": 0.1}, "kl_in_reward"),
        ({"type": "bi_level_gae", "kl_in_reward": 0.1}, "kl_in_reward"),
        ({"type": "bi_level_gae", "credit": {"type": "turn", "discount": 0.5}}, "credit.discount"),
        ({"type": "grpo", "credit": {"type": "trajectory", "discount": 0.5}}, "credit.discount"),
        ({"type": "grpo", "credit": {"type": "turn", "normalization": {"type": "mean"}}}, "credit.normalization"),
        ({"type": "grpo", "gamma": 0.9}, "gamma"),
        ({"type": "grpo", "critic": {"learning_rate": 1e-3}}, "critic"),
        ({"type": "ppo", "credit": {"type": "trajectory", "normalization": {"type": "none", "among": "batch"}}},
         "credit.normalization.among"),
    ],
)  # fmt: skip
def test_an_algorithm_has_only_the_settings_that_it_reads(algorithm: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=rf"  algorithm\.{field}: unknown field"):
        build_config({"algorithm": algorithm})


def test_an_unknown_algorithm_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ConfigError, match=r"algorithm\.type: 'a2c' is not allowed\. Use one of grpo, .*, ppo"):
        build_config({"algorithm": {"type": "a2c"}})


def test_settings_without_a_type_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"algorithm\.type: missing"):
        build_config({"algorithm": {"gamma": 0.9}})
