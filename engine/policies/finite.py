"""A policy whose weights are damaged is found out when its first token is sampled."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from engine.errors import ModelError


def check_finite(logprobs: Iterable[float]) -> None:
    """`ModelError` unless sampled tokens have a probability: one logit of NaN spoils all of its distribution."""
    if not all(map(isfinite, logprobs)):
        raise ModelError(
            "The policy's logits are not finite (NaN or infinite), so nothing can be sampled from it.",
            remedy="Its weights are damaged: fork from an earlier checkpoint with a lower optimizer.learning_rate.",
        )
