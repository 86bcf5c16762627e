"""GRPO (arXiv 2402.03300): a trajectory's score against its group's mean, over the group's standard deviation.

DAPO (arXiv 2503.14476) has the same advantages under another loss, filter and rollout, so it is a preset here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.algorithms.aggregation import SequenceMeanTokenMean
from engine.algorithms.filters import TopP
from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import GroupRelative

if TYPE_CHECKING:
    from torch import Tensor


class Grpo(GroupRelative):
    """`(score - group mean) / (group std + 1e-6)` on every sampled token; no critic."""

    type: Literal["grpo"] = "grpo"

    def compare(self, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
        from engine.algorithms.advantages import grpo

        return grpo(scores, groups, mask)


PRESETS = {
    "grpo": Preset(
        title="GRPO",
        one_line="No critic: each trajectory is compared with the others of its group; every trajectory counts alike.",
        paper="arXiv 2402.03300",
        algorithm=Grpo(),
        aggregation=SequenceMeanTokenMean(),
    ),
    "dapo": Preset(
        title="DAPO",
        one_line="GRPO with a token-level loss, a higher upper clip, dynamic sampling, an over-long penalty, no KL.",
        paper="arXiv 2503.14476",
        algorithm=Grpo(),
        clip_high=0.28,
        filter=TopP(value=1.0),
        refill=2,
        overlong_buffer=0.2,
    ),
}
