"""Weights of whole trajectories, as in RAGEN's code: by their group's standard deviation, or by their length."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.algorithms.advantages import EPSILON
from engine.algorithms.group_scores import group_scores


def reward_std_weights(returns: Tensor, groups: Tensor) -> Tensor:
    """`std_g / (max over groups of std + 1e-6)` for each trajectory (B,): down-weights groups, drops none.

    From raw returns (B,), on one scale (`on_one_scale`), and group ids (B,). 0 throughout if no group has a std.
    """
    stds = group_scores(returns, groups)  # (G,) in ascending order of id
    _, index = torch.unique(groups, return_inverse=True)
    return stds[index] / (stds.max() + EPSILON)


def length_weights(mask: Tensor) -> Tensor:
    """`mean length / length` for each trajectory (B,), in sampled tokens: long trajectories do not weigh more.

    The mean is over trajectories with a sampled token; one without has weight 0.
    """
    lengths = mask.sum(dim=1)
    some = lengths > 0
    mean = lengths.sum() / some.sum().clamp(min=1)
    return torch.where(some, mean / lengths.clamp(min=1), torch.zeros_like(lengths))
