"""From scores to advantages: which estimator, and where a trajectory's reward lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from engine.algorithms import advantages as estimators
from engine.config import AlgorithmConfig
from engine.rollout.batching import Batch, last_token_rewards, turn_ends

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
    """A trajectory's score against its group's; `compare` takes scores (B,), groups (B,) and the mask (B, T)."""

    def __init__(self, compare: Compare) -> None:
        self.compare = compare

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        return Credit(advantages=self.compare(config, batch.scores, batch.groups, batch.mask))


class RewardToGo:
    """REINFORCE++ (arXiv 2501.03262): the discounted reward still to come, whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        rewards = last_token_rewards(batch.scores, batch.mask)
        return Credit(advantages=estimators.reinforce_plus_plus(rewards, batch.mask, gamma=config.gamma))


class CriticGae:
    """PPO's GAE (arXiv 1506.02438) over sampled tokens, the whole score on the last one; whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        rewards = last_token_rewards(batch.scores, batch.mask)
        advantages, returns = estimators.gae(
            rewards, _needed(values, config), batch.mask, gamma=config.gamma, lam=config.lam
        )
        return Credit(advantages=estimators.whiten(advantages, batch.mask) * batch.mask, returns=returns)


class CriticBiLevelGae:
    """GAE over turns, then over the tokens of each (RAGEN's code); whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        advantages, returns = estimators.bi_level_gae(
            last_token_rewards(batch.scores, batch.mask),
            _needed(values, config),
            batch.mask,
            turn_ends(batch.mask),
            gamma=config.gamma,
            lam=config.lam,
            high_level_gamma=config.high_level_gamma,
        )
        return Credit(advantages=estimators.whiten(advantages, batch.mask) * batch.mask, returns=returns)


def _needed(values: Tensor | None, config: AlgorithmConfig) -> Tensor:
    if values is None:
        raise ValueError(f"{config.estimator} needs a critic's values; the learner makes a critic for it.")
    return values


def _grpo(config: AlgorithmConfig, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    return estimators.grpo(scores, groups, mask, scale_by_std=config.scale_by_std)


ESTIMATORS: dict[str, CreditRule] = {
    "grpo": GroupRelative(_grpo),
    "dr_grpo": GroupRelative(lambda _, *batch: estimators.grpo(*batch, scale_by_std=False)),
    "rloo": GroupRelative(lambda _, *batch: estimators.rloo(*batch)),
    "reinforce_plus_plus_baseline": GroupRelative(lambda _, *batch: estimators.reinforce_plus_plus_baseline(*batch)),
    "reinforce_plus_plus": RewardToGo(),
    "gae": CriticGae(),
    "bi_level_gae": CriticBiLevelGae(),
}


def assign_credit(config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
    return ESTIMATORS[config.estimator].assign(config, batch, values)
