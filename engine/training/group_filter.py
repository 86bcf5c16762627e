"""Applies the group filter to a step: which groups train, and the scale of their advantages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from engine.algorithms.filters import FilterBase, threshold_of
from engine.algorithms.group_scores import group_scores, on_one_scale
from engine.rollout.batching import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """`groups` are ids of the groups that train; `scale` is what their advantages are multiplied by.

    `scores` are those of all candidate groups, by id.
    """

    groups: list[int]
    scale: float
    metrics: dict[str, float]
    scores: dict[int, float] = field(default_factory=dict)


def keep_groups(group_filter: FilterBase, batch: Batch) -> Kept:
    """The filter's choice among the groups of `batch`. Returns are raw: without penalties and normalization."""
    groups = batch.groups.unique().tolist()
    if not groups:
        return Kept(groups=[], scale=1.0, metrics={"filter/kept_groups": 0.0, "filter/kept_ratio": 0.0})
    metric = group_filter.score_metric
    scores: list[float] = group_scores(_values(batch, metric), batch.groups, metric).double().tolist()
    chosen = group_filter.choose(scores)
    ratio = len(chosen) / len(groups)
    stds = group_scores(batch.returns, batch.groups)
    metrics = {
        "filter/kept_groups": float(len(chosen)),
        "filter/kept_ratio": ratio,
        "filter/zero_groups": float((stds < 1e-9).sum()),
        "filter/threshold": threshold_of(scores, chosen, largest=group_filter.prefers_largest),
    }
    return Kept(
        groups=[groups[index] for index in chosen],
        scale=group_filter.scale(ratio),
        metrics=metrics,
        scores=dict(zip(groups, scores, strict=True)),
    )


def _values(batch: Batch, metric: str) -> Tensor:
    """The value of each trajectory (B,) that the metric is computed from."""
    if metric.startswith("entropy"):
        return batch.entropies
    return batch.sampled.sum(dim=1) if metric == "length" else on_one_scale(batch.returns, batch.tags)


def kept_by_environment(batch: Batch, kept: Kept, names: Sequence[str]) -> dict[str, float]:
    """The share of each environment's groups that train, if there are several; `names` as `batch` numbers them."""
    if len(names) < 2:
        return {}
    shares = {}
    for tag, name in enumerate(names):
        own = set(batch.groups[batch.tags == tag].tolist())
        shares[f"env/{name}/kept_ratio"] = len(own & set(kept.groups)) / len(own) if own else 0.0
    return shares
