"""DAPO's soft overlong punishment: a penalty for each response that comes near its token limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.config import RolloutConfig

LengthPenalty = Callable[[int, int], float]  # sampled tokens, token limit -> at most 0


def no_penalty(tokens: int, limit: int) -> float:
    return 0.0


def soft_overlong(tokens: int, limit: int, *, buffer: float, most: float) -> float:
    """0 up to `(1 - buffer) * limit` tokens, then falling linearly to `most` at `limit` (arXiv 2503.14476, eq. 13).

    `buffer` is a share above 0, `most` a score below 0. With a limit of 40 and a buffer of 0.25 the last 10 tokens
    are penalised: 35 tokens get half of `most`.
    """
    margin = buffer * limit
    over = (tokens - (limit - margin)) / margin
    return most * min(1.0, max(0.0, over))


def length_penalty_of(config: RolloutConfig) -> LengthPenalty:
    if not config.overlong_buffer:
        return no_penalty
    return partial(soft_overlong, buffer=config.overlong_buffer, most=config.overlong_penalty)
