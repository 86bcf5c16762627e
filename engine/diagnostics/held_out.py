"""Held-out evaluations as metrics, by the names of the glossary, for the rules that watch them. No torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from engine.statistics.proportions import wilson

AREA = "eval/"


class HeldOutResult(Protocol):
    """One environment's part of an evaluation: an `EvaluationCompleted` event, or the row it became."""

    @property
    def environment(self) -> str: ...
    @property
    def episodes(self) -> int: ...
    @property
    def successes(self) -> int: ...
    @property
    def success(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def mean_return(self) -> float: ...


def held_out_metrics(results: Iterable[HeldOutResult]) -> dict[str, float]:
    """Of the `results` of one evaluation, one for each environment."""
    found: dict[str, float] = {}
    successes = episodes = 0
    for one in results:
        area = AREA + one.environment
        found |= {f"{area}/success": one.success, f"{area}/return": one.mean_return}
        found |= {f"{area}/success_low": one.low, f"{area}/success_high": one.high}
        successes, episodes = successes + one.successes, episodes + one.episodes
    if not episodes:
        return found
    interval = wilson(successes, episodes)
    pooled = {"success": successes / episodes, "success_low": interval.low, "success_high": interval.high}
    return {**{AREA + name: value for name, value in pooled.items()}, **found}
