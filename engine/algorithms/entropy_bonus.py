"""The coefficient of the entropy bonus in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.config import LossConfig

if TYPE_CHECKING:
    from engine.rollout.batching import Batch


def entropy_coefficient(loss: LossConfig, batch: Batch) -> float:
    """`loss.entropy_coefficient`; with `loss.entropy_target`, 0 while the trained tokens have more entropy than that.

    The adaptive entropy control of Skywork-OR1 (arXiv 2505.22312) with a fixed coefficient: the bonus only acts at or
    below the target, so it keeps entropy up without letting it grow. It depends on the batch alone, so resumed runs
    and several learners agree.
    """
    if loss.entropy_target == 0:
        return loss.entropy_coefficient
    return loss.entropy_coefficient if mean_entropy(batch) <= loss.entropy_target else 0.0


def mean_entropy(batch: Batch) -> float:
    """Of trained tokens, as the sampler measured it, in nats."""
    tokens = batch.mask.sum(dim=1)
    return float((batch.entropies * tokens).sum() / tokens.sum().clamp(min=1))
