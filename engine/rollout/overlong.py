"""What a response costs that comes near its token limit: DAPO's soft over-long punishment, for each response by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.config import RolloutConfig

LengthPenalty = Callable[[int, int], float]  # sampled tokens, token limit -> at most 0


def any_length(tokens: int, limit: int) -> float:
    return 0.0


def soft_overlong(tokens: int, limit: int, *, buffer: float, most: float) -> float:
    """0 up to `(1 - buffer) * limit` tokens, then falling evenly to `most` at `limit` (arXiv 2503.14476, eq. 13).

    `buffer` is a share above 0, `most` a score below 0. Of a limit of 40 with a buffer of 0.25 the last 10 tokens
    cost: 35 tokens half of `most`.
    """
    margin = buffer * limit
    over = (tokens - (limit - margin)) / margin
    return most * min(1.0, max(0.0, over))


def length_penalty_of(config: RolloutConfig) -> LengthPenalty:
    if not config.overlong_buffer:
        return any_length
    return partial(soft_overlong, buffer=config.overlong_buffer, most=config.overlong_penalty)
