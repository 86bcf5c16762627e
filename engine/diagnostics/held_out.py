"""Held-out evaluations as metrics, by the names of the glossary, for the rules that watch them. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

AREA = "eval/"


def held_out_metrics(results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """`results` are the fields of the `evaluation_completed` events of one evaluation, one an environment."""
    found: dict[str, float] = {}
    successes = episodes = 0
    for one in results:
        of = AREA + str(one["environment"])
        found |= {f"{of}/success": one["success"], f"{of}/return": one["mean_return"]}
        found |= {f"{of}/success_low": one["low"], f"{of}/success_high": one["high"]}
        successes, episodes = successes + one["successes"], episodes + one["episodes"]
    return {"eval/success": successes / episodes, **found} if episodes else found
