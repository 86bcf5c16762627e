"""From scores to advantages: which estimator, and where a trajectory's reward lies."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.algorithms import advantages as estimators
from engine.config import AlgorithmConfig
from engine.rollout.batching import Batch, last_token_rewards


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """Advantages (B, T); `returns` (B, T) are the critic's targets, for estimators that have one."""

    advantages: Tensor
    returns: Tensor | None = None


class GroupRelative:
    """GRPO (arXiv 2402.03300): a trajectory's score against its group's mean."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        return Credit(
            advantages=estimators.grpo(batch.scores, batch.groups, batch.mask, scale_by_std=config.scale_by_std)
        )


class CriticGae:
    """PPO's GAE (arXiv 1506.02438) over sampled tokens, the whole score on the last one; whitened over the batch."""

    def assign(self, config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
        if values is None:
            raise ValueError("gae needs a critic's values; the learner makes one when the estimator is gae.")
        rewards = last_token_rewards(batch.scores, batch.mask)
        advantages, returns = estimators.gae(rewards, values, batch.mask, gamma=config.gamma, lam=config.lam)
        return Credit(advantages=estimators.whiten(advantages, batch.mask) * batch.mask, returns=returns)


ESTIMATORS: dict[str, GroupRelative | CriticGae] = {"grpo": GroupRelative(), "gae": CriticGae()}


def assign_credit(config: AlgorithmConfig, batch: Batch, values: Tensor | None) -> Credit:
    return ESTIMATORS[config.estimator].assign(config, batch, values)
