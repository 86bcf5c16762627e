"""PPO with bi-level GAE (RAGEN's code; in no paper): GAE over turns, then over the tokens of each turn.

The turn level looks ahead from turn end to turn end and would skip a KL cost on the tokens between, so there is no KL
in the reward. It discounts turns by `high_level_gamma`, so turn credit has no discount of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import (
    CREDIT,
    NO_NORMALIZATION,
    AlgorithmBase,
    CriticConfig,
    Estimate,
    Normalization,
    TrajectoryCredit,
    UndiscountedCredit,
    needed,
)

if TYPE_CHECKING:
    from torch import Tensor

    from engine.rollout.batching import Batch


class BiLevelGae(AlgorithmBase):
    """GAE over turns sets each turn's target, then GAE over the tokens of the turn; whitened, with a critic."""

    type: Literal["bi_level_gae"] = "bi_level_gae"
    credit: UndiscountedCredit = Field(TrajectoryCredit(), description=CREDIT)
    gamma: float = Field(1.0, ge=0, le=1, description="Discount per token within a turn.")
    lam: float = Field(
        1.0, ge=0, le=1, description="Lambda of GAE. 1: unbiased with high variance; 0: relies on the critic alone."
    )
    high_level_gamma: float = Field(
        0.95, ge=0, le=1, description="Discount per turn, however long it is. 1 is undiscounted; 0 ignores later turns."
    )
    critic: CriticConfig = CriticConfig()

    @property
    def rewards_by_turn(self) -> bool:
        return not isinstance(self.credit, TrajectoryCredit)

    @property
    def score_normalization(self) -> Normalization:
        return self.credit.normalization if isinstance(self.credit, TrajectoryCredit) else NO_NORMALIZATION

    @property
    def critic_settings(self) -> CriticConfig:
        return self.critic

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        from engine.algorithms.advantages import bi_level_gae, whiten
        from engine.rollout.batching import turn_ends

        advantages, returns = bi_level_gae(
            batch.rewards,
            needed(values, self),
            batch.mask,
            turn_ends(batch.sampled),
            gamma=self.gamma,
            lam=self.lam,
            high_level_gamma=self.high_level_gamma,
        )
        return Estimate(advantages=whiten(advantages, batch.mask) * batch.mask, returns=returns)


PRESETS: dict[str, Preset] = {}
