"""From scores to advantages: where rewards lie, what they cost, and the algorithm's own assignment."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from engine.algorithms.group_scores import on_one_scale
from engine.algorithms.normalization import normalized
from engine.algorithms.reweighting import length_weights, reward_std_weights
from engine.algorithms.variants.base import AlgorithmBase, Estimate, NoNormalization
from engine.rollout.batching import Batch, last_token_rewards
from engine.rollout.types import Trajectory


def assign_credit(
    algorithm: AlgorithmBase, batch: Batch, values: Tensor | None, kl_to_reference: Tensor | None = None
) -> Estimate:
    """Advantages of `batch`; `kl_to_reference` (B, T), in nats per sampled token, is charged to rewards if given."""
    if not algorithm.rewards_by_turn:
        batch = replace(batch, rewards=last_token_rewards(batch.scores, batch.mask))
    if kl_to_reference is not None:
        costs = algorithm.reward_kl * kl_to_reference * batch.mask
        batch = replace(batch, rewards=batch.rewards - costs, scores=batch.scores - costs.sum(dim=1))
    estimate = algorithm.assign(batch, values)
    return replace(estimate, advantages=estimate.advantages * _weights(algorithm, batch)[:, None])


def _weights(algorithm: AlgorithmBase, batch: Batch) -> Tensor:
    """What each trajectory's advantages are multiplied by, (B,)."""
    weights = torch.ones_like(batch.scores)
    if algorithm.soft_reweighting:
        weights = weights * reward_std_weights(on_one_scale(batch.returns, batch.tags), batch.groups)
    if algorithm.length_weighting:
        weights = weights * length_weights(batch.mask)
    return weights


def with_normalized_scores(algorithm: AlgorithmBase, batch: Batch) -> Batch:
    """`batch` with its scores normalized among all its trajectories, before any are filtered; returns stay raw."""
    normalization = algorithm.score_normalization
    if isinstance(normalization, NoNormalization):
        return batch
    among = {"group": batch.groups, "environment": batch.tags, "batch": torch.zeros_like(batch.groups)}
    return replace(batch, scores=normalized(batch.scores, among[normalization.among], normalization.type))


def credited_tokens(
    trajectories: list[Trajectory], rows: list[int], advantages: Tensor | None
) -> dict[int, list[float]]:
    """The advantages of each token of the trajectories trained on, by their index in the step."""
    if advantages is None:
        return {}
    return {index: _padded(advantages[row], len(trajectories[index].ids)) for row, index in enumerate(rows)}


def _padded(advantages: Tensor, length: int) -> list[float]:
    values: list[float] = advantages[:length].tolist()
    return values + [0.0] * (length - len(values))
