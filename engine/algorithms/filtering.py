"""Which groups of a step train: StarPO-S's uncertainty filter and its variants (arXiv 2504.20073 4.2, 2604.06268).

A score is a group's standard deviation of raw returns unless another metric is chosen. Whole groups are kept or
dropped; nothing is duplicated to fill a batch. Returns come without format penalties: that choice is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Strategy = Literal["none", "top_p", "top_k", "top_k_absolute", "min_p"]
MassMode = Literal["variance", "std", "softmax"]
GroupMetric = Literal["reward_variance", "reward_mean", "reward_sum", "entropy", "entropy_variance", "length"]
LossScaling = Literal["none", "linear", "sqrt"]
ZERO = 1e-10
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Groups that may be kept: `scores` (n,) float64 in order of preference, with the index of each."""

    indices: list[int]
    scores: list[float]
    total: int  # groups of the step, left out ones counted
    value: float
    mode: MassMode
    largest: bool
    epsilon: float


def select_groups(
    scores: Tensor,
    *,
    strategy: Strategy,
    value: float,
    mode: MassMode = "variance",
    largest: bool = True,
    include_zero: bool = False,
    epsilon: float = 0.01,
) -> list[int]:
    """Indices of the kept groups among `scores` (G,), ascending; empty when there is no signal.

    none: all. top_p: the fewest groups that hold the share `value` of the mass, less `epsilon`. Mass is the squared
    score (variance, the default), the score (std, RAGEN's) or its softmax (RAGEN's main table; it depends on the
    scale of rewards, keeps nearly all when scores are close, and takes no epsilon). top_k: the share `value` of all
    groups, at least one; top_k_absolute: `value` groups. min_p: scores of at least `value` times the largest. With
    `largest` off the order is turned round. Groups with score 0 are left out first unless `include_zero`. Ties go to
    the lower index.

    `select_groups(tensor([4., 2., 1., 1.]), strategy="top_p", value=0.9)` is `[0, 1]`: of the squares 16, 4, 1, 1 the
    first two hold 20, and 0.9 of 22 is 19.8.
    """
    if strategy == "none":
        return list(range(len(scores)))
    numbers = scores.double().tolist()
    indices = [i for i, score in enumerate(numbers) if include_zero or abs(score) > ZERO]
    if not indices:
        return []
    indices.sort(key=numbers.__getitem__, reverse=largest)
    candidates = Candidates(
        indices=indices,
        scores=[numbers[i] for i in indices],
        total=len(numbers),
        value=value,
        mode=mode,
        largest=largest,
        epsilon=epsilon,
    )
    return sorted(indices[: STRATEGIES[strategy](candidates)])


def filter_threshold(scores: Tensor, kept: list[int], *, largest: bool = True) -> float:
    """The score of the last group that was kept: the smallest (largest with `largest` off); 0 when none was.

    Every kept group scores at least this much. A dropped group may equal it where a tie was cut.
    """
    if not kept:
        return 0.0
    chosen = scores[kept]
    return float(chosen.min() if largest else chosen.max())


def group_scores(values: Tensor, groups: Tensor, metric: GroupMetric = "reward_variance") -> Tensor:
    """One score for each group, `(G,)` in ascending order of group id, from `values` (B,) of its trajectories.

    Of returns: reward_variance is their unbiased standard deviation (RAGEN's name), 0 for a group of one and exactly 0
    for equal returns; reward_mean and reward_sum say what they are. Of mean token entropies: entropy is their mean,
    entropy_variance their standard deviation. Of numbers of sampled tokens: length is their mean.
    """
    score = GROUP_METRICS[metric]
    members = [values[groups == group].double() for group in sorted(set(groups.tolist()))]
    return torch.stack([score(values) for values in members]).to(torch.promote_types(values.dtype, torch.float32))


def loss_scale(kept_ratio: float, scaling: LossScaling) -> float:
    """What advantages are multiplied by when the share `kept_ratio` of groups trains: 1, the share, or its root."""
    return {"none": 1.0, "linear": kept_ratio, "sqrt": math.sqrt(kept_ratio)}[scaling]


def _spread(values: Tensor) -> Tensor:
    if len(values) < 2:
        return values.new_zeros(())
    return ((values - values.mean()).square().sum() / (len(values) - 1)).sqrt()


GROUP_METRICS: dict[str, Callable[[Tensor], Tensor]] = {
    "reward_variance": _spread,
    "reward_mean": torch.mean,
    "reward_sum": torch.sum,
    "entropy": torch.mean,
    "entropy_variance": _spread,
    "length": torch.mean,
}


# How many of the candidates, in order, each strategy keeps.


def _top_p(candidates: Candidates) -> int:
    if candidates.value >= 1:
        return len(candidates.indices)
    return MASS[candidates.mode](candidates)


def _top_k(candidates: Candidates) -> int:
    return max(1, int(candidates.value * candidates.total + ROUNDING))


def _top_k_absolute(candidates: Candidates) -> int:
    return max(1, int(candidates.value))


def _min_p(candidates: Candidates) -> int:
    best = candidates.scores[0]
    if candidates.largest:
        return sum(score >= candidates.value * best - ZERO for score in candidates.scores)
    return sum(score <= best / candidates.value + ZERO for score in candidates.scores)


STRATEGIES: dict[str, Callable[[Candidates], int]] = {
    "top_p": _top_p,
    "top_k": _top_k,
    "top_k_absolute": _top_k_absolute,
    "min_p": _min_p,
}


def _walk(masses: list[float], candidates: Candidates) -> int:
    """Groups walked until they hold `value * total - epsilon`; 0 when that is nothing, or never reached."""
    wanted = candidates.value * sum(masses) - candidates.epsilon
    held, count = 0.0, 0
    if wanted <= 0:
        return 0
    for mass in masses:
        if held >= wanted or mass <= 0:
            break
        held, count = held + mass, count + 1
    return count if held >= wanted else 0


def _variance(candidates: Candidates) -> int:
    return _walk([score**2 for score in candidates.scores], candidates)


def _std_mass(candidates: Candidates) -> int:
    return _walk(candidates.scores, candidates)


def _softmax(candidates: Candidates) -> int:
    scores = torch.tensor(candidates.scores, dtype=torch.float64)
    shares = torch.softmax(scores if candidates.largest else -scores, dim=0)
    held = shares.cumsum(0)
    return min(len(scores), 1 + int((held < candidates.value - ROUNDING).sum()))


MASS: dict[str, Callable[[Candidates], int]] = {"variance": _variance, "std": _std_mass, "softmax": _softmax}
