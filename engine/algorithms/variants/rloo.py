"""RLOO (arXiv 2402.14740): a trajectory's score minus the mean score of the other members of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.algorithms.aggregation import SequenceMeanTokenSumNorm
from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import GroupRelative

if TYPE_CHECKING:
    from torch import Tensor


class Rloo(GroupRelative):
    """`score - mean of the others in the group` on every sampled token; no critic."""

    type: Literal["rloo"] = "rloo"

    def compare(self, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
        from engine.algorithms.advantages import rloo

        return rloo(scores, groups, mask)


PRESETS = {
    "rloo": Preset(
        title="RLOO",
        one_line="Each trajectory is one action, compared with the mean of the others in its group; KL in the reward.",
        paper="arXiv 2402.14740",
        algorithm=Rloo(kl_in_reward=0.01),
        aggregation=SequenceMeanTokenSumNorm(),
    ),
}
