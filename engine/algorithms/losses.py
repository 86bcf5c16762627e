"""Policy and value losses, KL estimators, entropy. Tokens are `(B, T)` float32; `mask` is 1 on sampled tokens.

A loss divides by `normalizer` when it is given, so that the losses of a mini-batch's parts add up to the whole's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Aggregation = Literal["token_mean", "sequence_mean_token_sum", "sequence_mean_token_mean"]
KlKind = Literal["k1", "k2", "k3"]
MAX_LOG_RATIO = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLoss:
    """`loss` carries the gradient; the rest describe it. Fractions are of sampled tokens."""

    loss: Tensor  # ()
    clip_fraction: float  # where the upper or lower clip decides
    clip_fraction_low: float  # where the dual clip decides
    ratio_max: float
    approx_kl: float  # mean of old minus new log-probability


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float,
    aggregation: Aggregation,
    normalizer: Tensor | None = None,
) -> PolicyLoss:
    """PPO's clipped objective as a loss (arXiv 1707.06347, eq. 7), its two clips apart (DAPO, arXiv 2503.14476).

    Where the advantage is negative the loss is at most `-advantage * dual_clip` (arXiv 1912.09729); 0 turns that off.
    A batch with no sampled token has loss 0.
    """
    ratio = (logprobs - old_logprobs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()  # (B, T)
    plain = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    losses = torch.maximum(plain, clipped)
    bounded = torch.zeros_like(mask, dtype=torch.bool)
    if dual_clip:
        bound = -advantages * dual_clip
        bounded = (advantages < 0) & (bound < losses)
        losses = torch.where(bounded, bound, losses)
    tokens = mask.sum().clamp(min=1)
    return PolicyLoss(
        loss=aggregate(losses, mask, aggregation, normalizer=normalizer),
        clip_fraction=float(((clipped > plain) * mask).sum() / tokens),
        clip_fraction_low=float((bounded * mask).sum() / tokens),
        ratio_max=float((ratio.detach() * mask).max()),
        approx_kl=float(((old_logprobs - logprobs.detach()) * mask).sum() / tokens),
    )


def aggregate(losses: Tensor, mask: Tensor, how: Aggregation, *, normalizer: Tensor | None = None) -> Tensor:
    """Token losses `(B, T)` as one number.

    token_mean: over all sampled tokens. sequence_mean_token_sum: sum in each trajectory, mean over trajectories
    (Dr. GRPO). sequence_mean_token_mean: mean in each, mean over trajectories (GRPO). Rows without a sampled token do
    not count.
    """
    return AGGREGATIONS[how](losses, mask, normalizer)


def _token_mean(losses: Tensor, mask: Tensor, normalizer: Tensor | None) -> Tensor:
    return (losses * mask).sum() / (mask.sum().clamp(min=1) if normalizer is None else normalizer)


def _sequence_mean_token_sum(losses: Tensor, mask: Tensor, normalizer: Tensor | None) -> Tensor:
    return (losses * mask).sum() / (_rows_with_tokens(mask) if normalizer is None else normalizer)


def _sequence_mean_token_mean(losses: Tensor, mask: Tensor, normalizer: Tensor | None) -> Tensor:
    means = (losses * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)  # (B,)
    return means.sum() / (_rows_with_tokens(mask) if normalizer is None else normalizer)


AGGREGATIONS: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "token_mean": _token_mean,
    "sequence_mean_token_sum": _sequence_mean_token_sum,
    "sequence_mean_token_mean": _sequence_mean_token_mean,
}


def _rows_with_tokens(mask: Tensor) -> Tensor:
    return (mask.sum(dim=1) > 0).sum().clamp(min=1).to(mask.dtype)


def value_loss(
    values: Tensor,
    old_values: Tensor,
    returns: Tensor,
    mask: Tensor,
    *,
    clip: float,
    normalizer: Tensor | None = None,
) -> Tensor:
    """Half the larger of the squared errors of the value and of the value kept within `clip` of its old one, per token.

    From the PPO reference implementation; a scalar with gradient.
    """
    near = old_values + (values - old_values).clamp(-clip, clip)
    errors = torch.maximum((values - returns) ** 2, (near - returns) ** 2)
    return 0.5 * _token_mean(errors, mask, normalizer)


def kl_penalty(logprobs: Tensor, ref_logprobs: Tensor, kind: KlKind) -> Tensor:
    """Per-token estimates of KL(policy || reference), `(B, T)` (joschu.net/blog/kl-approx.html).

    k1: log-ratio, unbiased, can be negative, and has no expected gradient as a loss. k2: half its square. k3:
    `exp(-d) - 1 + d`, unbiased and never negative; its log-ratio is clamped to ±20 and itself to ±10.
    """
    return KL_KINDS[kind](logprobs - ref_logprobs)


KL_KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    "k1": lambda d: d,
    "k2": lambda d: 0.5 * d * d,
    "k3": lambda d: (
        (-d).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp() - 1 + d.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    ).clamp(-10, 10),
}


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of the distributions over the last axis: `(..., V) -> (...)`."""
    logprobs = torch.log_softmax(logits, dim=-1)
    return -(logprobs.exp() * logprobs).sum(dim=-1)
