"""REINFORCE++-baseline (arXiv 2501.03262): score minus the group's mean, whitened over the tokens of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import Estimate, GroupRelative

if TYPE_CHECKING:
    from torch import Tensor

    from engine.rollout.batching import Batch


class ReinforcePlusPlusBaseline(GroupRelative):
    """`score - group mean`, whitened over the sampled tokens of the batch; no critic."""

    type: Literal["reinforce_plus_plus_baseline"] = "reinforce_plus_plus_baseline"

    def compare(self, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
        from engine.algorithms.advantages import grpo

        return grpo(scores, groups, mask, scale_by_std=False)

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        from engine.algorithms.advantages import reinforce_plus_plus_baseline, whiten

        if not self.rewards_by_turn:
            return Estimate(advantages=reinforce_plus_plus_baseline(batch.scores, batch.groups, batch.mask))
        centred = super().assign(batch, values).advantages
        return Estimate(advantages=whiten(centred, batch.mask) * batch.mask)


PRESETS: dict[str, Preset] = {}
