"""Normalization of scores before advantages are computed, as in RAGEN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Method = Literal["mean", "mean_std", "asym_clip"]
NO_VARIANCE = 1e-6


def normalized(scores: Tensor, together: Tensor, method: Method) -> Tensor:
    """`scores` (B,), normalised among those with the same number in `together` (B,).

    mean: `R - mean`. mean_std: `(R - mean) / (std + 1e-6)`, std unbiased, and 0 where it is at most 1e-6. asym_clip:
    mean_std kept within -1 and 3. A single score keeps its value: there is nothing to compare it with.
    """
    found = scores.double()
    for number in together.unique():
        rows = (together == number).nonzero().squeeze(-1)
        if len(rows) > 1:
            found[rows] = METHODS[method](found[rows])
    return found.to(scores.dtype)


def _mean(scores: Tensor) -> Tensor:
    return scores - scores.mean()


def _mean_std(scores: Tensor) -> Tensor:
    std = scores.std()
    return _mean(scores) / (std + NO_VARIANCE) if std > NO_VARIANCE else torch.zeros_like(scores)


def _asym_clip(scores: Tensor) -> Tensor:
    return _mean_std(scores).clamp(-1, 3)


METHODS: dict[str, Callable[[Tensor], Tensor]] = {"mean": _mean, "mean_std": _mean_std, "asym_clip": _asym_clip}
