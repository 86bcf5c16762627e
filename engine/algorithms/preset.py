"""One preset: an algorithm under its name in the literature, with the settings around it that make it so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.algorithms.aggregation import LossAggregation, TokenMean
from engine.algorithms.filters import GroupFilter, NoFilter

if TYPE_CHECKING:
    from engine.algorithms.variants.base import AlgorithmBase

Overrides = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """`title` is the label that a config carries in `preset`.

    Every preset decides all of these settings, so that choosing another leaves nothing of the first behind.
    """

    title: str
    one_line: str
    paper: str
    algorithm: AlgorithmBase
    filter: GroupFilter = field(default_factory=NoFilter)
    aggregation: LossAggregation = field(default_factory=TokenMean)
    clip_low: float = 0.2
    clip_high: float = 0.2
    kl_coefficient: float = 0.0
    refill: int = 0
    overlong_buffer: float = 0.0

    @property
    def overrides(self) -> Overrides:
        """`{section: {field: value}}`, as a config has them."""
        return {
            "rollout": {"refill": self.refill, "overlong_buffer": self.overlong_buffer},
            "algorithm": self.algorithm.model_dump(mode="json"),
            "loss": {
                "clip_low": self.clip_low,
                "clip_high": self.clip_high,
                "aggregation": self.aggregation.model_dump(mode="json"),
                "kl_coefficient": self.kl_coefficient,
                "kl_kind": "k3",
            },
            "filter": self.filter.model_dump(mode="json"),
        }
