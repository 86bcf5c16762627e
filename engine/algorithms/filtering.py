"""Which groups of a step train: StarPO-S's uncertainty filter and its variants (arXiv 2504.20073 4.2, 2604.06268).

A score is a group's standard deviation of raw returns unless another metric is chosen. Whole groups are kept or
dropped; nothing is duplicated to fill a batch. Returns come without format penalties: that choice is the caller's.
The choice itself is in `engine.algorithms.group_choice`, on plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from engine.algorithms.group_choice import MassMode, Strategy, choose_groups, threshold_of

GroupMetric = Literal["reward_variance", "reward_mean", "reward_sum", "entropy", "entropy_variance", "length"]
LossScaling = Literal["none", "linear", "sqrt"]


def select_groups(
    scores: Tensor | Sequence[float],
    *,
    strategy: Strategy,
    value: float,
    mode: MassMode = "variance",
    largest: bool = True,
    include_zero: bool = False,
    epsilon: float = 0.01,
) -> list[int]:
    """Indices of the kept groups among `scores` (G,), ascending; empty when there is no signal.

    What each strategy and mode keeps is in `choose_groups`, which this is, on a tensor or a list.
    `select_groups(tensor([4., 2., 1., 1.]), strategy="top_p", value=0.9)` is `[0, 1]`. `ValueError` for another shape.
    """
    return choose_groups(
        _numbers(scores),
        strategy=strategy,
        value=value,
        mode=mode,
        largest=largest,
        include_zero=include_zero,
        epsilon=epsilon,
    )


def filter_threshold(scores: Tensor | Sequence[float], kept: list[int], *, largest: bool = True) -> float:
    """The score of the last group that was kept; `threshold_of` on a tensor (G,) or a list."""
    return threshold_of(_numbers(scores), kept, largest=largest)


def _numbers(scores: Tensor | Sequence[float]) -> list[float]:
    given = torch.as_tensor(scores, dtype=torch.float64)
    if given.ndim != 1:
        raise ValueError(f"scores has the shape {tuple(given.shape)}; give one number for each group, (G,).")
    numbers: list[float] = given.tolist()
    return numbers


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
    10 for, and would else never be kept. As they are where there is one.
    """
    names, place = torch.unique(tags, return_inverse=True)
    if len(names) < 2:
        return returns
    largest = torch.stack([returns[place == index].abs().max() for index in range(len(names))])
    return returns / torch.where(largest > 0, largest, torch.ones_like(largest))[place]


def loss_scale(kept_ratio: float, scaling: LossScaling) -> float:
    """What advantages are multiplied by when the share `kept_ratio` of groups trains: 1, the share, or its root."""
    return {"none": 1.0, "linear": kept_ratio, "sqrt": math.sqrt(kept_ratio)}[scaling]


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
