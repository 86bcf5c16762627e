"""Dr. GRPO (arXiv 2503.20783): GRPO without the division by the group's standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.algorithms.aggregation import SequenceMeanTokenSumNorm
from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import GroupRelative

if TYPE_CHECKING:
    from torch import Tensor


class DrGrpo(GroupRelative):
    """`score - group mean` on every sampled token; no critic."""

    type: Literal["dr_grpo"] = "dr_grpo"

    def compare(self, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
        from engine.algorithms.advantages import grpo

        return grpo(scores, groups, mask, scale_by_std=False)


PRESETS = {
    "dr_grpo": Preset(
        title="Dr. GRPO",
        one_line="GRPO without dividing by std or length, which favour very easy or hard problems and long failures.",
        paper="arXiv 2503.20783",
        algorithm=DrGrpo(),
        aggregation=SequenceMeanTokenSumNorm(),
    ),
}
