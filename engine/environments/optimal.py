"""Optimal play of a recorded problem: the shortest way from its first state, and how far each later state was from it.

Slips are left out of account: problems are played again in an environment in which nothing slips. What does not go as
it was recorded is unknown, never guessed. No torch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import EnvironmentConfig
from engine.environments.base import Drawing, Environment
from engine.environments.registry import make_environment

# parameters with which a kind leaves nothing to chance, where its own do not
STILL: dict[str, dict[str, Any]] = {"frozen_lake": {"success_rate": 1.0}}
LOST = -1  # no way leads to success from there


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimalPlay:
    """`drawings` has the first state and the one after each action."""

    actions: list[str]
    drawings: list[Drawing]


def optimal_play(config: EnvironmentConfig, seed: int, initial: Drawing | None) -> OptimalPlay | None:
    """A shortest solution of the problem of `seed`; None where there is none, or where `initial` is another state."""
    environment = _still(config)
    environment.reset(seed=seed)
    solution = environment.solution() if environment.drawing() == initial else None
    if not solution:
        return None
    names = environment.action_names()
    drawings = [environment.drawing()]
    for action in solution:
        environment.step(action)
        drawings.append(environment.drawing())
    return OptimalPlay(actions=[names[action] for action in solution], drawings=drawings)


def actions_to_go(
    config: EnvironmentConfig,
    seed: int,
    turns: Sequence[Sequence[tuple[str, Drawing | None]]],
    *,
    seconds: float = 1.0,
) -> list[int | None]:
    """Fewest actions to success before the first turn and after each: `LOST` where there are none, None where unknown.

    Of each turn the actions that were done and the states they led to. Unknown is what comes after a slip, and what
    would take longer than `seconds` to search.
    """
    environment = _still(config)
    environment.reset(seed=seed)
    deadline = time.monotonic() + seconds
    found: list[int | None] = [_to_go(environment)]
    for turn in turns:
        known = found[-1] is not None and time.monotonic() < deadline
        found.append(_to_go(environment) if known and _replayed(environment, turn) else None)
    return found


def _still(config: EnvironmentConfig) -> Environment:
    return make_environment(config.kind, **{**config.parameters, **STILL.get(config.kind, {})})


def _to_go(environment: Environment) -> int:
    solution = environment.solution()
    return LOST if solution is None else len(solution)


def _replayed(environment: Environment, turn: Sequence[tuple[str, Drawing | None]]) -> bool:
    """Does the turn; whether it went as it was recorded."""
    for name, drawing in turn:
        names = environment.action_names()
        if name not in names:
            return False
        try:
            environment.step(names.index(name))
        except RuntimeError:  # the episode is over here, and was not there
            return False
        if environment.drawing() != drawing:
            return False
    return True
