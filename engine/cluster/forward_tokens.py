"""How many tokens go through a learner's model at once, where that is open and memory is short. No torch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

from engine.cluster.learner_memory import LearnerMemory
from engine.config import RunConfig

STEP = 256  # tokens


class Planned(Protocol):
    """A memory plan: `tokens` go through `learner` at once."""

    @property
    def tokens(self) -> int: ...

    @property
    def learner(self) -> LearnerMemory: ...


Plan = Callable[[RunConfig], Planned]


def with_tokens(config: RunConfig, tokens: int) -> RunConfig:
    optimizer = config.optimizer.model_copy(update={"micro_batch_tokens": tokens})
    return config.model_copy(update={"optimizer": optimizer})


def fitting_tokens(config: RunConfig, plan: Plan, *, usual: int, room: int) -> int:
    """The largest number, up to `usual`, with which a learner fits into `room` bytes by `plan`. Where none does, that
    of the longest trajectory, which is not split."""

    def is_too_much(tokens: int) -> bool:
        return plan(with_tokens(config, tokens)).learner.total > room

    least = plan(with_tokens(config, 1)).tokens
    if least >= usual or not is_too_much(usual):
        return usual
    choices = range(least, usual, STEP)
    return choices[max(0, bisect_left(choices, True, key=is_too_much) - 1)]
