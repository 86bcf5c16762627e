"""How hard each part of the loss pulls, by how much returns differ within groups. Nothing is stepped or changed.

RAGEN v2 (arXiv 2604.06268, section 5) tells collapse as a signal-to-noise story: the task's gradient shrinks with the
std of returns, that of entropy and KL does not. RAGEN takes one norm over a bucket's mini-batches, which shrinks as
the bucket grows and its noise averages out. Here a norm is of one group, which has as many members in every bucket, and
a bucket shows the mean over its groups: buckets of any size compare. Which losses there are is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

Component = Literal["task", "entropy", "kl"]
COMPONENTS: tuple[Component, ...] = ("task", "entropy", "kl")
Losses = Mapping[Component, Tensor]
Borders = Literal["quantile", "fixed"]
Norms = dict[Component, float]


def buckets_by_reward_std(
    stds: Sequence[float], *, count: int, borders: Borders, width: float = 0.1
) -> dict[str, list[int]]:
    """Indices of groups by bucket, `bucket_1` the one with the lowest reward std; empty buckets are left out.

    quantile: as equal in number as they come, at most one for each group. fixed: `[0, width)`, `[width, 2 width)`, …,
    the last one open. `buckets_by_reward_std([0.3, 0.0, 0.1], count=2, borders="fixed", width=0.2)` is
    `{"bucket_1": [1, 2], "bucket_2": [0]}`.
    """
    return {f"bucket_{number}": members for number, members in BORDERS[borders](stds, count, width) if members}


def _by_quantile(stds: Sequence[float], count: int, width: float) -> Iterable[tuple[int, list[int]]]:
    order = np.argsort(np.asarray(stds), kind="stable")
    parts = np.array_split(order, min(count, len(order)) or 1)
    return enumerate((sorted(part.tolist()) for part in parts), start=1)


def _by_border(stds: Sequence[float], count: int, width: float) -> Iterable[tuple[int, list[int]]]:
    borders = width * np.arange(1, count)
    buckets = np.digitize(np.asarray(stds), borders)
    return ((number + 1, np.flatnonzero(buckets == number).tolist()) for number in range(count))


BORDERS: dict[Borders, Callable[[Sequence[float], int, float], Iterable[tuple[int, list[int]]]]] = {
    "quantile": _by_quantile,
    "fixed": _by_border,
}


def gradient_norms(parts: Iterable[Losses], parameters: Sequence[nn.Parameter]) -> Norms:
    """Norm of each component's gradient, summed over `parts` of one loss; a component that is missing has 0.

    A part's losses may share a graph. No `.grad` is read or written. Parameters that need no gradient are left out.
    It holds a sum for each component, and the one gradient that is added.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    sums: dict[Component, list[Tensor]] = {}
    for losses in parts:
        for number, (name, loss) in enumerate(losses.items(), start=1):
            if name not in sums:
                sums[name] = [torch.zeros_like(parameter) for parameter in trained]
            shared = number < len(losses)
            _add(sums[name], torch.autograd.grad(loss, trained, allow_unused=True, retain_graph=shared))
    return {
        name: float(torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(total) for total in sums[name]])))
        if name in sums
        else 0.0
        for name in COMPONENTS
    }


def _add(totals: list[Tensor], gradients: Sequence[Tensor | None]) -> None:
    for total, gradient in zip(totals, gradients, strict=True):
        if gradient is not None:
            total += gradient


def bucket_metrics(
    norms: Sequence[Norms], stds: Sequence[float], buckets: Mapping[str, Sequence[int]]
) -> dict[str, float]:
    """`gradient/<bucket>/…` from the norms and stds of all groups; the bucket `all` holds every one."""
    metrics: dict[str, float] = {}
    for bucket, members in {"all": range(len(norms)), **buckets}.items():
        means = {name: float(np.mean([norms[i][name] for i in members])) for name in COMPONENTS}
        regularizers = means["entropy"] + means["kl"]
        pull = means["task"] + regularizers
        metrics |= {f"gradient/{bucket}/{name}": value for name, value in means.items()}
        metrics |= {
            f"gradient/{bucket}/regularizer_share": regularizers / pull if pull else 0.0,
            f"gradient/{bucket}/reward_std": float(np.mean([stds[i] for i in members])),
            f"gradient/{bucket}/groups": float(len(members)),
        }
    return metrics
