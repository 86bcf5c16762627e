"""How the losses of tokens become one number, as settings. The arithmetic is in `engine.algorithms.losses`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from engine.section import Section


class _Aggregation(Section):
    @property
    def constant(self) -> int:
        """What the sum of each trajectory is divided by, in tokens."""
        return 1


class TokenMean(_Aggregation):
    """Every sampled token weighs the same (DAPO)."""

    type: Literal["token_mean"] = "token_mean"


class SequenceMeanTokenMean(_Aggregation):
    """Every trajectory weighs the same (GRPO)."""

    type: Literal["sequence_mean_token_mean"] = "sequence_mean_token_mean"


class SequenceMeanTokenSum(_Aggregation):
    """Sum over each trajectory, mean over trajectories: long trajectories weigh more."""

    type: Literal["sequence_mean_token_sum"] = "sequence_mean_token_sum"


class SequenceMeanTokenSumNorm(_Aggregation):
    """sequence_mean_token_sum divided by a constant length (Dr. GRPO)."""

    type: Literal["sequence_mean_token_sum_norm"] = "sequence_mean_token_sum_norm"
    norm_length: int = Field(
        100,
        ge=1,
        le=1_000_000,
        description="The constant, in tokens: about the sampled tokens of a long trajectory. Larger makes the loss, "
        "entropy bonus and KL included, smaller.",
    )

    @property
    def constant(self) -> int:
        return self.norm_length


LossAggregation = Annotated[
    TokenMean | SequenceMeanTokenMean | SequenceMeanTokenSum | SequenceMeanTokenSumNorm, Field(discriminator="type")
]
