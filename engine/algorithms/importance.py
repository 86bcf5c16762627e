"""Truncated importance weights for tokens that another engine, or an older policy, sampled."""

from __future__ import annotations

import torch
from torch import Tensor


def importance_weights(logprobs: Tensor, sampled: Tensor, mask: Tensor, *, cap: float) -> Tensor:
    """`min(exp(logprobs - sampled), cap)` of each sampled token, `(B, T)`, 1 elsewhere; 1 throughout for a `cap` of 0.

    `logprobs` are the learner's before its update and `sampled` the sampler's, in nats. The cap bounds variance at the
    price of some bias (Ionides 2008, doi 10.1198/106186008X320456). With the clipped objective taken against
    `logprobs`, this corrects for the gap between sampler and learner (decoupled PPO, arXiv 2110.00641).
    """
    if not cap:
        return torch.ones_like(mask)
    weights = (logprobs - sampled).clamp(-20.0, 20.0).exp().clamp(max=cap)
    return torch.where(mask > 0, weights, 1.0)
