"""From the trajectories that train to an updated policy: values, credit, gradient steps."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.algorithms.losses import explained_variance
from engine.rollout.batching import Batch
from engine.training.credit import assign_credit
from engine.training.learner import Learner


def learn(learner: Learner, batch: Batch, *, step: int, scale: float) -> tuple[Tensor, dict[str, float]]:
    """Updates by all of `batch`; advantages (B, T) are times `scale`. Returns them, and metrics of the update."""
    config = learner.config
    values = learner.values(batch) if learner.critic is not None else None
    kl = learner.kl_in_reward(batch)
    credit = assign_credit(config.algorithm, batch, values, kl)
    advantages = credit.advantages * scale
    shuffle = torch.Generator().manual_seed(config.seed * 1_000_003 + step)
    metrics = learner.update(batch, advantages, step=step, shuffle=shuffle, values=values, returns=credit.returns)
    if values is not None and credit.returns is not None:
        metrics["value/explained_variance"] = explained_variance(values, credit.returns, batch.mask)
    if kl is not None:
        metrics["policy/kl_in_reward"] = float(kl.sum() / batch.mask.sum().clamp(min=1))
    return advantages, metrics
