"""REINFORCE++ (arXiv 2501.03262): the discounted reward to go of each token, whitened over the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import CreditedByTurn, Estimate, KlInReward

if TYPE_CHECKING:
    from torch import Tensor

    from engine.rollout.batching import Batch


class ReinforcePlusPlus(KlInReward, CreditedByTurn):
    """Discounted reward to go, whitened over the sampled tokens of the batch; no critic and no groups."""

    type: Literal["reinforce_plus_plus"] = "reinforce_plus_plus"
    gamma: float = Field(1.0, ge=0, le=1, description="Discount per token. Below 1, late reward counts for less.")

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        from engine.algorithms.advantages import reinforce_plus_plus

        discounts = self.discounts(batch, self.gamma)
        return Estimate(advantages=reinforce_plus_plus(batch.rewards, batch.mask, gamma=discounts))


PRESETS = {
    "reinforce_plus_plus": Preset(
        title="REINFORCE++",
        one_line="No critic and no groups: reward to go, whitened over the step; KL is charged token by token.",
        paper="arXiv 2501.03262",
        algorithm=ReinforcePlusPlus(kl_in_reward=0.01),
    ),
}
