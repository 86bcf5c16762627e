"""From scores to advantages: which estimator, and where a trajectory's reward lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from engine.algorithms import advantages as estimators
from engine.algorithms.filtering import on_one_scale
from engine.algorithms.normalization import normalized
from engine.algorithms.reweighting import length_weights, reward_std_weights
from engine.config import AlgorithmConfig
from engine.rollout.batching import Batch, last_token_rewards, turn_ends, turn_numbers

Compare = Callable[[AlgorithmConfig, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """Advantages (B, T); `returns` (B, T) are the critic's targets, for estimators that have one."""

    advantages: Tensor
    returns: Tensor | None = None


class CreditRule(Protocol):
    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        """Advantages for all sampled tokens of `batch`; `values` (B, T) are the critic's, where there is one."""


class GroupRelative:
    """A trajectory's score against its group's; `compare` takes scores (B,), groups (B,) and the mask (B, T).

    Under turn credit it is each turn's reward to go against the same turn of the others.
    """

    def __init__(self, compare: Compare) -> None:
        self.compare = compare

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        if config.credit == "trajectory":
            return Credit(advantages=self.compare(config, batch.scores, batch.groups, batch.mask))
        return Credit(
            advantages=estimators.turn_advantages(
                batch.rewards,
                batch.groups,
                turn_numbers(batch.mask),
                turn_discount=config.turn_discount,
                compare=partial(self.compare, config),
            )
        )


class WhitenedGroupRelative:
    """REINFORCE++-baseline (arXiv 2501.03262): score less the group's mean, whitened over the tokens of the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        if config.credit == "trajectory":
            return Credit(advantages=estimators.reinforce_plus_plus_baseline(batch.scores, batch.groups, batch.mask))
        centred = GroupRelative(_dr_grpo).assign(config, batch, values).advantages
        return Credit(advantages=estimators.whiten(centred, batch.mask) * batch.mask)


class AgainstGreedy:
    """ReMax (arXiv 2310.10505): a trajectory's score less that of the greedy episode of its problem."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        return Credit(advantages=estimators.remax(batch.scores, batch.baselines, batch.mask))


class RewardToGo:
    """REINFORCE++ (arXiv 2501.03262): the discounted reward still to come, whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        discounts = _discounts(config, batch)
        return Credit(advantages=estimators.reinforce_plus_plus(batch.rewards, batch.mask, gamma=discounts))


class CriticGae:
    """PPO's GAE (arXiv 1506.02438) over sampled tokens; whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        advantages, returns = estimators.gae(
            batch.rewards,
            _needed(values, config),
            batch.mask,
            gamma=_discounts(config, batch),
            lam=config.lam,
        )
        return Credit(advantages=estimators.whiten(advantages, batch.mask) * batch.mask, returns=returns)


class CriticBiLevelGae:
    """GAE over turns, then over the tokens of each (RAGEN's code); whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        advantages, returns = estimators.bi_level_gae(
            batch.rewards,
            _needed(values, config),
            batch.mask,
            turn_ends(batch.mask),
            gamma=config.gamma,
            lam=config.lam,
            high_level_gamma=config.high_level_gamma,
        )
        return Credit(advantages=estimators.whiten(advantages, batch.mask) * batch.mask, returns=returns)


def _discounts(config: AlgorithmConfig, batch: Batch) -> float | Tensor:
    if config.turn_discount == 1:
        return config.gamma
    ends = turn_ends(batch.mask)
    return estimators.step_discounts(batch.mask, ends, gamma=config.gamma, turn_discount=config.turn_discount)


def _needed(values: Tensor | None, config: AlgorithmConfig) -> Tensor:
    if values is None:
        raise ValueError(f"{config.estimator} needs a critic's values; the learner makes a critic for it.")
    return values


def _grpo(config: AlgorithmConfig, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    return estimators.grpo(scores, groups, mask, scale_by_std=config.scale_by_std)


def _dr_grpo(config: AlgorithmConfig, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    return estimators.grpo(scores, groups, mask, scale_by_std=False)


def _rloo(config: AlgorithmConfig, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    return estimators.rloo(scores, groups, mask)


ESTIMATORS: dict[str, CreditRule] = {
    "grpo": GroupRelative(_grpo),
    "dr_grpo": GroupRelative(_dr_grpo),
    "rloo": GroupRelative(_rloo),
    "reinforce_plus_plus_baseline": WhitenedGroupRelative(),
    "reinforce_plus_plus": RewardToGo(),
    "remax": AgainstGreedy(),
    "gae": CriticGae(),
    "bi_level_gae": CriticBiLevelGae(),
}


def assign_credit(
    config: AlgorithmConfig, batch: Batch, values: Tensor | None, kl_to_reference: Tensor | None = None
) -> Credit:
    """Advantages of `batch`; `kl_to_reference` (B, T), in nats per sampled token, is charged to rewards where given."""
    if config.credit == "trajectory":
        batch = replace(batch, rewards=last_token_rewards(batch.scores, batch.mask))
    if kl_to_reference is not None:
        costs = config.kl_in_reward * kl_to_reference * batch.mask
        batch = replace(batch, rewards=batch.rewards - costs, scores=batch.scores - costs.sum(dim=1))
    credit = ESTIMATORS[config.estimator].assign(config, batch, values)
    return replace(credit, advantages=credit.advantages * _weights(config, batch)[:, None])


def _weights(config: AlgorithmConfig, batch: Batch) -> Tensor:
    """What each trajectory's advantages are multiplied by, (B,)."""
    weights = torch.ones_like(batch.scores)
    if config.soft_reweighting:
        weights = weights * reward_std_weights(on_one_scale(batch.returns, batch.tags), batch.groups)
    if config.length_weighting:
        weights = weights * length_weights(batch.mask)
    return weights


def with_normalized_scores(config: AlgorithmConfig, batch: Batch) -> Batch:
    """`batch` with its scores normalised among all its trajectories, so before any are filtered; returns stay raw."""
    if config.normalize_by == "none":
        return batch
    together = {"state": batch.groups, "tag": batch.tags, "batch": torch.zeros_like(batch.groups)}
    return replace(batch, scores=normalized(batch.scores, together[config.normalize_by], config.normalize_method))
