"""Schedules of the policy's learning rate after the warm-up."""

from __future__ import annotations

from math import cos, pi
from typing import Annotated, Literal

from pydantic import Field

from engine.section import Section


class ConstantSchedule(Section):
    """The learning rate stays where it is."""

    type: Literal["constant"] = "constant"

    def share(self, done: float) -> float:
        """Share of the learning rate when the share `done` of the steps after the warm-up is over."""
        return 1.0


class _Falling(Section):
    minimum_ratio: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Share of learning_rate at the last step. 0: the last updates change almost nothing.",
    )

    def share(self, done: float) -> float:
        return self.minimum_ratio + (1 - self.minimum_ratio) * self.height(done)

    def height(self, done: float) -> float:
        """1 at the start and 0 at the end."""
        raise NotImplementedError


class LinearSchedule(_Falling):
    """Falls in a straight line."""

    type: Literal["linear"] = "linear"

    def height(self, done: float) -> float:
        return 1.0 - done


class CosineSchedule(_Falling):
    """Falls along half a cosine."""

    type: Literal["cosine"] = "cosine"

    def height(self, done: float) -> float:
        return (1.0 + cos(pi * done)) / 2


class ExponentialSchedule(Section):
    """Stays for a while, then changes by the same factor at every step. Rising, it is a range test (arXiv 1506.01186):
    it shows at which rate a run breaks."""

    type: Literal["exponential"] = "exponential"
    final_ratio: float = Field(
        0.1,
        gt=0,
        le=10_000,
        description="learning_rate times this is the rate of the last step. Below 1 the rate falls. Above 1 it rises, "
        "to find the rate that is too high.",
    )

    hold: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Share of the steps after the warm-up during which the rate stays constant before it changes.",
    )

    def share(self, done: float) -> float:
        return float(self.final_ratio ** (max(0.0, done - self.hold) / (1 - self.hold)))


Schedule = Annotated[
    ConstantSchedule | LinearSchedule | CosineSchedule | ExponentialSchedule, Field(discriminator="type")
]
