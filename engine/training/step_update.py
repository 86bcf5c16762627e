"""One update of the policy from the kept trajectories: values, credit assignment, gradient steps."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.algorithms.importance import importance_weights
from engine.algorithms.losses import explained_variance
from engine.config import RunConfig
from engine.rollout.batching import Batch
from engine.training.credit import assign_credit
from engine.training.learner import Learner


def update(
    learner: Learner, batch: Batch, *, step: int, scale: float, tokens: int | None = None
) -> tuple[Tensor, dict[str, float]]:
    """Updates the policy with `batch`. Returns advantages (B, T), multiplied by `scale`, and metrics of the update.
    `tokens` are those sampled so far."""
    config = learner.config
    values = learner.values(batch) if learner.critic is not None else None
    kl = learner.kl_in_reward(batch)
    credit = assign_credit(config.algorithm, batch, values, kl)
    advantages = credit.advantages * scale
    weights = _weights(config, batch)
    shuffle = torch.Generator().manual_seed(config.seed * 1_000_003 + step)
    metrics = learner.update(
        batch, advantages * weights, step=step, shuffle=shuffle, values=values, returns=credit.returns, tokens=tokens
    )
    if batch.rescored:  # else the sampler's log-probabilities are the learner's own
        metrics |= disagreement(batch, weights, cap=config.cluster.importance_cap)
    if values is not None and credit.returns is not None:
        metrics["value/explained_variance"] = explained_variance(values, credit.returns, batch.mask)
    if kl is not None:
        metrics["policy/kl_in_reward"] = float(kl.sum() / batch.mask.sum().clamp(min=1))
    return advantages, metrics


def weighted_advantages(config: RunConfig, batch: Batch, advantages: Tensor) -> Tensor:
    """Advantages (B, T) times the importance weights that correct for the sampler."""
    return advantages * _weights(config, batch)


def _weights(config: RunConfig, batch: Batch) -> Tensor:
    return importance_weights(batch.logprobs, batch.sampler_logprobs, batch.mask, cap=config.cluster.importance_cap)


def disagreement(batch: Batch, weights: Tensor, *, cap: float) -> dict[str, float]:
    """The difference between the sampler and the learner before its update, per token, in nats."""
    sampled = batch.mask > 0
    gap = (batch.sampler_logprobs - batch.logprobs)[sampled]
    if not len(gap):
        return {}
    return {
        "policy/sampler_kl": float(gap.mean()),
        "policy/sampler_gap": float(gap.abs().mean()),
        "policy/importance_weight": float(weights[sampled].mean()),
        "policy/importance_truncated": float((weights[sampled] >= cap).float().mean()) if cap else 0.0,
    }
