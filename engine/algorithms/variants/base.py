"""What every algorithm has, and what the trainer reads of it. No torch is loaded until an advantage is computed.

An algorithm is one file of this package: a class with the settings that it reads and `assign`, which turns a batch into
advantages, and its presets. Settings that several algorithms share are the classes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from engine.section import Section

if TYPE_CHECKING:
    from torch import Tensor

    from engine.rollout.batching import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Advantages (B, T); `returns` (B, T) are the critic's targets, for algorithms that have one."""

    advantages: Tensor
    returns: Tensor | None = None


class NoNormalization(Section):
    """Scores enter the advantages as they are."""

    type: Literal["none"] = "none"


class _Normalization(Section):
    among: Literal["group", "environment", "batch"] = Field(
        "group",
        description="Which trajectories a score is compared with: those of its group, of its environment, or of the "
        "whole step.",
    )


class MeanNormalization(_Normalization):
    """Score minus the mean."""

    type: Literal["mean"] = "mean"


class MeanStdNormalization(_Normalization):
    """Score minus the mean, divided by the standard deviation."""

    type: Literal["mean_std"] = "mean_std"


class ClippedNormalization(_Normalization):
    """mean_std clipped to [-1, 3], so that rare successes weigh more than failures (RAGEN's asym_clip)."""

    type: Literal["asym_clip"] = "asym_clip"


Normalization = Annotated[
    NoNormalization | MeanNormalization | MeanStdNormalization | ClippedNormalization, Field(discriminator="type")
]


class TrajectoryCredit(Section):
    """The whole score of a trajectory is its reward, on its last sampled token."""

    type: Literal["trajectory"] = "trajectory"
    normalization: Normalization = Field(
        NoNormalization(),
        description="Normalize scores before advantages are computed, over all trajectories of the step. The group "
        "filter reads raw returns in any case.",
    )


class TurnCredit(Section):
    """Each turn's reward and penalty lie on its own last token."""

    type: Literal["turn"] = "turn"


class DiscountedTurnCredit(TurnCredit):
    """Each turn's reward and penalty lie on its own last token; later turns may count for less."""

    discount: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Discount from one turn to the next. 1 credits a turn with all reward after it; 0 with its own "
        "reward only.",
    )


CREDIT = (
    "Where reward lies. trajectory: the whole score at the end. turn: each turn's reward at the end of that turn; "
    "algorithms that compare within a group then compare the return from that turn on."
)
Credit = Annotated[TrajectoryCredit | DiscountedTurnCredit, Field(discriminator="type")]
UndiscountedCredit = Annotated[TrajectoryCredit | TurnCredit, Field(discriminator="type")]
NO_NORMALIZATION = NoNormalization()


class CriticConfig(Section):
    """The value model of an actor-critic algorithm. It has the policy's architecture and starts from its weights."""

    learning_rate: float = Field(1e-3, gt=0, le=1, description="Learning rate of the critic.")
    warmup_steps: int = Field(
        0, ge=0, le=1000, description="Steps at the start that train the critic only, not the policy."
    )
    value_clip: float = Field(
        0.5, gt=0, le=100, description="Clip range of the value loss: how far a value may move from its old one."
    )


class AlgorithmBase(Section):
    """Settings of every algorithm. The properties are what the trainer reads; a variant overrides those it needs."""

    within_group: ClassVar[bool] = False  # compares the members of a group, so a group needs two
    greedy_baseline: ClassVar[bool] = False  # needs a greedy episode of each problem

    type: str
    soft_reweighting: bool = Field(
        False,
        description="Multiply advantages by the standard deviation of their group's returns over the largest of the "
        "step: down-weights uninformative groups instead of dropping them.",
    )
    length_weighting: bool = Field(
        False,
        description="Multiply advantages by mean length / own length in sampled tokens, so that long trajectories do "
        "not weigh more under token_mean.",
    )

    @property
    def rewards_by_turn(self) -> bool:
        """Whether rewards lie at the end of each turn, and not all at the end of the trajectory."""
        return False

    @property
    def score_normalization(self) -> Normalization:
        return NO_NORMALIZATION

    @property
    def reward_kl(self) -> float:
        """Reward that a sampled token costs per nat above the reference model; above 0 the reference is loaded."""
        return 0.0

    @property
    def critic_settings(self) -> CriticConfig | None:
        return None

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        """Advantages of all trained tokens of `batch`; `values` (B, T) are the critic's, where there is one.

        `batch.rewards` (B, T) and `batch.scores` (B,) already follow the credit setting and bear the KL cost.
        """
        raise NotImplementedError


class KlInReward(AlgorithmBase):
    """An algorithm that can charge the divergence from the reference model to the reward of each token."""

    kl_in_reward: float = Field(
        0.0,
        ge=0,
        le=100,
        description="KL penalty in the reward: each sampled token costs this much per nat that its log-probability is "
        "above the reference model's. 0 turns it off. Unlike loss.kl_coefficient it goes through the advantages.",
    )

    @property
    def reward_kl(self) -> float:
        return self.kl_in_reward


class CreditedByTurn(AlgorithmBase):
    """An algorithm that can credit each turn with the reward from that turn on."""

    credit: Credit = Field(TrajectoryCredit(), description=CREDIT)

    @property
    def rewards_by_turn(self) -> bool:
        return isinstance(self.credit, TurnCredit)

    @property
    def turn_discount(self) -> float:
        return self.credit.discount if isinstance(self.credit, DiscountedTurnCredit) else 1.0

    @property
    def score_normalization(self) -> Normalization:
        return self.credit.normalization if isinstance(self.credit, TrajectoryCredit) else NO_NORMALIZATION

    def discounts(self, batch: Batch, gamma: float) -> float | Tensor:
        """The discount from each trained token to the next: `gamma`, and that of turns where a turn ends."""
        from engine.algorithms.advantages import step_discounts
        from engine.rollout.batching import turn_ends

        if self.turn_discount == 1:
            return gamma
        return step_discounts(batch.mask, turn_ends(batch.sampled), gamma=gamma, turn_discount=self.turn_discount)


class GroupRelative(KlInReward, CreditedByTurn):
    """A score against those of its group; under turn credit, a turn's reward to go against the same turn of others."""

    within_group: ClassVar[bool] = True

    def compare(self, scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
        """Advantages (B, T) from scores (B,), group ids (B,) and the mask (B, T) of trained tokens."""
        raise NotImplementedError

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        from engine.algorithms.advantages import turn_advantages
        from engine.rollout.batching import turn_numbers

        if not self.rewards_by_turn:
            return Estimate(advantages=self.compare(batch.scores, batch.groups, batch.mask))
        return Estimate(
            advantages=turn_advantages(
                batch.rewards,
                batch.groups,
                turn_numbers(batch.sampled).masked_fill(batch.mask == 0, -1),
                turn_discount=self.turn_discount,
                compare=self.compare,
            )
        )


def needed(values: Tensor | None, algorithm: AlgorithmBase) -> Tensor:
    """The critic's values of an algorithm that cannot do without."""
    if values is None:
        raise ValueError(f"{algorithm.type} needs the values of a critic; give those of the learner.")
    return values
