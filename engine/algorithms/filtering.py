"""Which groups of a step train: StarPO-S's uncertainty filter and its variants (arXiv 2504.20073 4.2, 2604.06268).

A score is a group's standard deviation of raw returns unless another metric is chosen. Whole groups are kept or
dropped; nothing is duplicated to fill a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Strategy = Literal["none", "top_p", "top_k", "top_k_abs", "min_p"]
MassMode = Literal["variance", "linear", "softmax"]
ZERO = 1e-10


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

    none: all. top_p: the fewest groups that hold a share `value` of the mass, which is the squared score (variance, the
    default), the score (linear, RAGEN's) or its softmax (RAGEN's main table). top_k: the share `value` of all groups,
    at least one; top_k_abs: `value` groups. min_p: scores of at least `value` times the largest. With `largest` off the
    order is turned round. Groups with score 0 are left out first unless `include_zero`.
    """
    candidates = [i for i, score in enumerate(scores.tolist()) if include_zero or abs(score) > ZERO]
    if not candidates:
        return []
    ordered = sorted(candidates, key=lambda i: float(scores[i]), reverse=largest)
    kept = STRATEGIES[strategy](scores, ordered, value, mode, largest, epsilon)
    return sorted(kept)


def _none(scores: Tensor, ordered: list[int], value: float, mode: str, largest: bool, epsilon: float) -> list[int]:
    return ordered


def _top_p(scores: Tensor, ordered: list[int], value: float, mode: str, largest: bool, epsilon: float) -> list[int]:
    if value >= 1:
        return ordered
    return MASS[mode](scores[ordered].double(), ordered, value, largest, epsilon)


def _top_k(scores: Tensor, ordered: list[int], value: float, mode: str, largest: bool, epsilon: float) -> list[int]:
    return ordered[: max(1, int(value * len(scores)))]


def _top_k_abs(scores: Tensor, ordered: list[int], value: float, mode: str, largest: bool, epsilon: float) -> list[int]:
    return ordered[: max(1, int(value))]


def _min_p(scores: Tensor, ordered: list[int], value: float, mode: str, largest: bool, epsilon: float) -> list[int]:
    best = float(scores[ordered[0]])
    if largest:
        return [i for i in ordered if float(scores[i]) >= value * best - ZERO]
    return [i for i in ordered if float(scores[i]) <= best / value + ZERO]


STRATEGIES: dict[str, Callable[[Tensor, list[int], float, str, bool, float], list[int]]] = {
    "none": _none,
    "top_p": _top_p,
    "top_k": _top_k,
    "top_k_abs": _top_k_abs,
    "min_p": _min_p,
}


def _positive_mass(mass: Tensor, ordered: list[int], value: float, epsilon: float) -> list[int]:
    """Walks down `mass` until the share `value`, less `epsilon`, is held; empty if it is never reached."""
    wanted = value * float(mass.sum()) - epsilon
    held, kept = 0.0, []
    if wanted <= 0:
        return []
    for index, amount in zip(ordered, mass.tolist(), strict=True):
        if held >= wanted or amount <= 0:
            break
        held += amount
        kept.append(index)
    return kept if held >= wanted else []


def _variance(scores: Tensor, ordered: list[int], value: float, largest: bool, epsilon: float) -> list[int]:
    # the slack is given for standard deviations; squared, it bounds the same outcome spread
    return _positive_mass(scores**2, ordered, value, epsilon**2)


def _linear(scores: Tensor, ordered: list[int], value: float, largest: bool, epsilon: float) -> list[int]:
    return _positive_mass(scores, ordered, value, epsilon)


def _softmax(scores: Tensor, ordered: list[int], value: float, largest: bool, epsilon: float) -> list[int]:
    shares = torch.softmax(scores if largest else -scores, dim=0)
    cumulative = shares.cumsum(0).tolist()
    count = next((i + 1 for i, held in enumerate(cumulative) if held >= value - ZERO), len(ordered))
    return ordered[:count]


MASS: dict[str, Callable[[Tensor, list[int], float, bool, float], list[int]]] = {
    "variance": _variance,
    "linear": _linear,
    "softmax": _softmax,
}


def group_scores(returns: Tensor, groups: Tensor) -> Tensor:
    """Unbiased standard deviation of `returns` (B,) in each group, `(G,)` by ascending id; 0 for a group of one."""
    return torch.stack(
        [
            returns[groups == group].std() if (groups == group).sum() > 1 else returns.new_zeros(())
            for group in groups.unique()
        ]
    )
