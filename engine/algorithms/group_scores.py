"""Scores of groups, which the filters of `engine.algorithms.filters` choose by.

Returns come without format penalties: that choice is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.algorithms.filters import GroupMetric


def group_scores(values: Tensor, groups: Tensor, metric: GroupMetric = "reward_variance") -> Tensor:
    """One score for each group, `(G,)` in ascending order of group id, from `values` (B,) of its trajectories.

    Of returns: reward_variance is their unbiased standard deviation (RAGEN's name), 0 for a group of one and exactly 0
    for equal returns; reward_mean and reward_sum say what they are. Of mean token entropies: entropy is their mean,
    entropy_variance their standard deviation. Of numbers of sampled tokens: length is their mean.
    """
    score = GROUP_METRICS[metric]
    members = [values[groups == group].double() for group in sorted(set(groups.tolist()))]
    return torch.stack([score(values) for values in members]).to(torch.promote_types(values.dtype, torch.float32))


def on_one_scale(returns: Tensor, tags: Tensor) -> Tensor:
    """Returns (B,) that can be compared between the environments `tags` (B,) of a step.

    Where there are several, each one's are divided by the largest of its own by size: one pays 1 for what another pays
    10 for, and would otherwise never be kept. With one environment they are unchanged.
    """
    names, index = torch.unique(tags, return_inverse=True)
    if len(names) < 2:
        return returns
    largest = torch.stack([returns[index == number].abs().max() for number in range(len(names))])
    return returns / torch.where(largest > 0, largest, torch.ones_like(largest))[index]


def _std(values: Tensor) -> Tensor:
    if len(values) < 2:
        return values.new_zeros(())
    return ((values - values.mean()).square().sum() / (len(values) - 1)).sqrt()


GROUP_METRICS: dict[str, Callable[[Tensor], Tensor]] = {
    "reward_variance": _std,
    "reward_mean": torch.mean,
    "reward_sum": torch.sum,
    "entropy": torch.mean,
    "entropy_variance": _std,
    "length": torch.mean,
}
