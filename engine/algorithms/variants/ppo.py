"""PPO with a critic (arXiv 1707.06347): generalised advantage estimation over sampled tokens (arXiv 1506.02438).

StarPO and StarPO-S (arXiv 2504.20073) are PPO on whole multi-turn trajectories, so they are presets here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from engine.algorithms.filters import TopK
from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import CreditedByTurn, CriticConfig, Estimate, KlInReward, needed

if TYPE_CHECKING:
    from torch import Tensor

    from engine.rollout.batching import Batch


class Ppo(KlInReward, CreditedByTurn):
    """GAE with a learned critic, whitened over the sampled tokens of the batch."""

    type: Literal["ppo"] = "ppo"
    gamma: float = Field(1.0, ge=0, le=1, description="Discount per token. Below 1, late reward counts for less.")
    lam: float = Field(
        1.0, ge=0, le=1, description="Lambda of GAE. 1: unbiased with high variance; 0: relies on the critic alone."
    )
    critic: CriticConfig = CriticConfig()

    @property
    def critic_settings(self) -> CriticConfig:
        return self.critic

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        from engine.algorithms.advantages import gae, whiten

        discounts = self.discounts(batch, self.gamma)
        advantages, returns = gae(batch.rewards, needed(values, self), batch.mask, gamma=discounts, lam=self.lam)
        return Estimate(advantages=whiten(advantages, batch.mask) * batch.mask, returns=returns)


PRESETS = {
    "ppo": Preset(
        title="PPO",
        one_line="A critic predicts the return of every token's state; advantages are measured against it.",
        paper="arXiv 1707.06347, 1506.02438",
        algorithm=Ppo(critic=CriticConfig(warmup_steps=2)),
    ),
    "starpo": Preset(
        title="StarPO",
        # the paper's KL estimator is k1, whose expected gradient as a loss is 0; k3 has the intended effect
        one_line="PPO over whole multi-turn trajectories with a small KL penalty; tends to collapse.",
        paper="arXiv 2504.20073, sections 2.2 and 4.1",
        algorithm=Ppo(critic=CriticConfig(warmup_steps=2)),
        kl_coefficient=0.001,
    ),
    "starpo_s": Preset(
        title="StarPO-S",
        one_line="StarPO stabilised: trains on the most uncertain quarter of groups, no KL, a higher upper clip.",
        paper="arXiv 2504.20073, section 4.2",
        algorithm=Ppo(critic=CriticConfig(warmup_steps=2)),
        clip_high=0.28,
        filter=TopK(value=0.25),
    ),
}
