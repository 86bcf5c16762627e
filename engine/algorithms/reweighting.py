"""Weights of whole trajectories' advantages, as in RAGEN's code: by their group's spread, or by their length."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.algorithms.advantages import EPSILON
from engine.algorithms.group_scores import group_scores


def reward_std_weights(returns: Tensor, groups: Tensor) -> Tensor:
    """`std_g / (max over groups of std + 1e-6)` for each trajectory (B,): a filter that drops no group but fades it.

    From raw returns (B,), on one scale (`on_one_scale`), and group ids (B,). 0 for all where no group has a spread.
    """
    stds = group_scores(returns, groups)  # (G,) in ascending order of id
    _, place = torch.unique(groups, return_inverse=True)
    return stds[place] / (stds.max() + EPSILON)


def length_weights(mask: Tensor) -> Tensor:
    """`mean length / length` for each trajectory (B,), in sampled tokens: long ones do not count for more.

    The mean is over trajectories with a sampled token; one without has weight 0.
    """
    lengths = mask.sum(dim=1)
    some = lengths > 0
    mean = lengths.sum() / some.sum().clamp(min=1)
    return torch.where(some, mean / lengths.clamp(min=1), torch.zeros_like(lengths))
