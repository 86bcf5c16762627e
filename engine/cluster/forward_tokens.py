"""How many tokens of a local run go through its model at once, where that is open and memory is short. No torch."""

from __future__ import annotations

from bisect import bisect_left

from engine.cluster.local_memory import LocalMemory, estimate_local
from engine.config import RunConfig
from engine.policies.model_shape import ModelShape

STEP = 256  # tokens


def with_tokens(config: RunConfig, tokens: int) -> RunConfig:
    optimizer = config.optimizer.model_copy(update={"micro_batch_tokens": tokens})
    return config.model_copy(update={"optimizer": optimizer})


def fitting_tokens(config: RunConfig, shape: ModelShape, *, usual: int, room: int, gpu: bool) -> int:
    """The largest number, up to `usual`, with which the learner fits into `room` bytes by the memory plan. Where none
    does, that of the longest trajectory, which is not split."""

    def plan(tokens: int) -> LocalMemory:
        return estimate_local(with_tokens(config, tokens), shape, gpu=gpu)

    def is_too_much(tokens: int) -> bool:
        return plan(tokens).learner.total > room

    least = plan(1).tokens
    if least >= usual or not is_too_much(usual):
        return usual
    choices = range(least, usual, STEP)
    return choices[max(0, bisect_left(choices, True, key=is_too_much) - 1)]
