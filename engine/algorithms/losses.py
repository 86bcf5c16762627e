"""Policy and value losses, KL estimators, entropy. Tokens are `(B, T)` float32; `mask` is 1 on sampled tokens.

A loss divides by `normalizer` when it is given (`loss_normalizer` of the whole mini-batch), so that losses and
gradients of micro-batches add up to those of the whole. The learner splits micro-batches and steps the optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

Aggregation = Literal[
    "token_mean", "sequence_mean_token_sum", "sequence_mean_token_mean", "sequence_mean_token_sum_norm"
]
KlKind = Literal["k1", "k2", "k3", "k1+", "k3+"]
Normalizer = Tensor | float | None
MAX_LOG_RATIO = 20.0
MAX_K3 = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLoss:
    """`loss` carries the gradient; the rest describe it. Fractions are of sampled tokens."""

    loss: Tensor  # ()
    clip_fraction: float  # where the upper or lower clip is active
    clipped_above: float  # where the upper one is
    clipped_below: float  # where the lower one is
    clip_fraction_low: float  # where the dual clip is active
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
    normalizer: Normalizer = None,
) -> PolicyLoss:
    """PPO's clipped objective as a loss (arXiv 1707.06347, eq. 7), with two clips (DAPO, arXiv 2503.14476).

    `max(-A r, -A clip(r, 1 - clip_low, 1 + clip_high))` with `r = exp(logprobs - old_logprobs)`, the exponent kept
    within ±20. Where the advantage is negative the loss is at most `-A * dual_clip` (arXiv 1912.09729; above 1, and 0
    turns it off). All tensors are `(B, T)`. A batch with no sampled token has loss 0 and a gradient of 0.
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
    held = (clipped > plain) * mask  # (B, T)
    return PolicyLoss(
        loss=aggregate(losses, mask, aggregation, normalizer=normalizer),
        clip_fraction=float(held.sum() / tokens),
        clipped_above=float((held * (advantages > 0)).sum() / tokens),
        clipped_below=float((held * (advantages < 0)).sum() / tokens),
        clip_fraction_low=float((bounded * mask).sum() / tokens),
        ratio_max=float((ratio.detach() * mask).max()),
        approx_kl=float(((old_logprobs - logprobs.detach()) * mask).sum() / tokens),
    )


def aggregate(losses: Tensor, mask: Tensor, how: Aggregation, *, normalizer: Normalizer = None) -> Tensor:
    """Token losses `(B, T)` as one number.

    token_mean: over all sampled tokens. sequence_mean_token_sum: sum in each trajectory, mean over trajectories
    (Dr. GRPO). sequence_mean_token_mean: mean in each, mean over trajectories (GRPO). Rows without a sampled token do
    not count. sequence_mean_token_sum_norm: sequence_mean_token_sum divided by a constant length (arXiv 2503.20783
    divides by the longest response allowed). `loss_normalizer` has the constant; without a `normalizer` it is 1.
    """
    return AGGREGATIONS[how](losses, mask, normalizer)


def _token_mean(losses: Tensor, mask: Tensor, normalizer: Normalizer) -> Tensor:
    return (losses * mask).sum() / (mask.sum().clamp(min=1) if normalizer is None else normalizer)


def _sequence_mean_token_sum(losses: Tensor, mask: Tensor, normalizer: Normalizer) -> Tensor:
    return (losses * mask).sum() / (_rows_with_tokens(mask) if normalizer is None else normalizer)


def _sequence_mean_token_mean(losses: Tensor, mask: Tensor, normalizer: Normalizer) -> Tensor:
    means = (losses * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)  # (B,)
    return means.sum() / (_rows_with_tokens(mask) if normalizer is None else normalizer)


AGGREGATIONS: dict[str, Callable[[Tensor, Tensor, Normalizer], Tensor]] = {
    "token_mean": _token_mean,
    "sequence_mean_token_sum": _sequence_mean_token_sum,
    "sequence_mean_token_mean": _sequence_mean_token_mean,
    "sequence_mean_token_sum_norm": _sequence_mean_token_sum,
}


def loss_normalizer(mask: Tensor, how: Aggregation, *, length: int = 1) -> Tensor:
    """What `aggregate` divides a whole mini-batch by: its sampled tokens, or its rows that have any; at least 1.

    For sequence_mean_token_sum_norm it is those rows times the constant `length`, in tokens.
    """
    if how == "token_mean":
        return mask.sum().clamp(min=1)
    rows = _rows_with_tokens(mask)
    return rows * length if how == "sequence_mean_token_sum_norm" else rows


def _rows_with_tokens(mask: Tensor) -> Tensor:
    return (mask.sum(dim=1) > 0).sum().clamp(min=1)


def value_loss(
    values: Tensor,
    old_values: Tensor,
    returns: Tensor,
    mask: Tensor,
    *,
    clip: float,
    normalizer: Normalizer = None,
) -> Tensor:
    """Half the larger of the squared errors of the value and of the value clipped to within `clip` of its old one.

    `0.5 * mean(max((V - R)^2, (V_old + clip(V - V_old, ±clip) - R)^2))` over sampled tokens, from OpenAI's PPO code
    (discussed in arXiv 2006.05990, where it did not help). Where the clipped value decides, the gradient is 0. `clip`
    is above 0; `math.inf` leaves the plain squared error. A scalar with gradient.
    """
    plain, kept = _value_errors(values, old_values, returns, clip)
    return 0.5 * _token_mean(torch.maximum(plain, kept), mask, normalizer)


def value_clip_fraction(values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, *, clip: float) -> float:
    """Share of sampled tokens on which the clip of `value_loss` decides; 0 for none."""
    plain, kept = _value_errors(values.detach(), old_values, returns, clip)
    return float(((kept > plain) * mask).sum() / mask.sum().clamp(min=1))


def _value_errors(values: Tensor, old_values: Tensor, returns: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    near = old_values + (values - old_values).clamp(-clip, clip)
    return (values - returns) ** 2, (near - returns) ** 2


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor) -> float:
    """`1 - var(returns - values) / var(returns)` over sampled tokens: 1 is perfect, 0 no better than a constant.

    Below 0 the critic is worse than that. 0 where returns do not vary, or with fewer than two tokens.
    """
    chosen = mask.bool()
    if int(chosen.sum()) < 2:
        return 0.0
    targets, errors = returns[chosen].double(), (returns - values)[chosen].double()
    variance = float(targets.var())
    return 1.0 - float(errors.var()) / variance if variance > 1e-12 else 0.0


def kl_penalty(logprobs: Tensor, ref_logprobs: Tensor, kind: KlKind) -> Tensor:
    """Estimates of KL(policy || reference) from each sampled token, `(B, T)` (joschu.net/blog/kl-approx.html).

    With `d = logprobs - ref_logprobs`: k1 is `d`, unbiased, can be negative, and as a loss has an expected gradient of
    0, so it has no effect on average. k2 is `d^2 / 2`, biased a little, and its gradient is that of the KL. k3 is
    `exp(-d) - 1 + d`, unbiased and never negative; `d` is kept within ±20 and the result below 10. Equal
    log-probabilities give 0. k1+ and k3+ have the values of k1 and k3 and the gradient of k2 (straight through).
    """
    return KL_KINDS[kind](logprobs - ref_logprobs)


def _k1(difference: Tensor) -> Tensor:
    return difference


def _k2(difference: Tensor) -> Tensor:
    return 0.5 * difference**2


def _k3(difference: Tensor) -> Tensor:
    bounded = difference.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return ((-bounded).exp() - 1 + bounded).clamp(-MAX_K3, MAX_K3)


def _with_gradient_of_k2(value: Callable[[Tensor], Tensor], difference: Tensor) -> Tensor:
    carrier = _k2(difference)
    return value(difference).detach() + carrier - carrier.detach()


KL_KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    "k1": _k1,
    "k2": _k2,
    "k3": _k3,
    "k1+": partial(_with_gradient_of_k2, _k1),
    "k3+": partial(_with_gradient_of_k2, _k3),
}


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of the distributions over the last axis: `(..., V) -> (...)`, from 0 (certain) to ln V (uniform).

    Logits of -inf (masked tokens) have probability 0 and contribute nothing to the value or the gradient.
    """
    logprobs = torch.log_softmax(logits, dim=-1)
    finite = logprobs.clamp(min=torch.finfo(logprobs.dtype).min)
    return -(logprobs.exp() * finite).sum(dim=-1)
