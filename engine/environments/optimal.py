"""Optimal play of a recorded problem: the shortest solution, and the distance to success of each recorded state.

Problems are replayed in an environment without slips. After a step that differs from the recording the distance is
unknown. No torch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import EnvironmentConfig
from engine.environments.base import UNKNOWN, Drawing, Environment
from engine.environments.registry import environment_of

# parameters that make a kind deterministic
DETERMINISTIC: dict[str, dict[str, Any]] = {"frozen_lake": {"success_rate": 1.0}}
UNSOLVABLE = -1  # success cannot be reached from the state


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimalPlay:
    """`drawings` has the first state and the one after each action."""

    actions: list[str]
    drawings: list[Drawing]


def optimal_play(config: EnvironmentConfig, seed: int, initial: Drawing | None) -> OptimalPlay | None:
    """A shortest solution of the problem of `seed`; None if there is none, or if `initial` is a different state."""
    environment = _deterministic(config)
    environment.reset(seed=seed)
    solution = environment.solution() if environment.drawing() == initial else None
    if not solution or solution is UNKNOWN:
        return None
    actions, drawings = [], [environment.drawing()]
    for action in solution:
        actions.append(environment.name_of(action))
        environment.step(environment.resolve(actions[-1]))
        drawings.append(environment.drawing())
    return OptimalPlay(actions=actions, drawings=drawings)


def actions_to_go(
    config: EnvironmentConfig,
    seed: int,
    turns: Sequence[Sequence[tuple[str, Drawing | None]]],
    *,
    seconds: float = 1.0,
) -> list[int | None]:
    """The fewest actions to success before the first turn and after each turn: `UNSOLVABLE`, or None if unknown.

    `turns` has the actions of each turn and the states they led to. It is unknown after a slip, and when the search
    takes longer than `seconds`.
    """
    environment = _deterministic(config)
    environment.reset(seed=seed)
    deadline = time.monotonic() + seconds
    found: list[int | None] = [_to_go(environment)]
    replayed = True
    for turn in turns:
        replayed = replayed and time.monotonic() < deadline and _replayed(environment, turn)
        found.append(_to_go(environment) if replayed else None)
    return found


def _deterministic(config: EnvironmentConfig) -> Environment:
    return environment_of(config, **DETERMINISTIC.get(config.kind, {}))


def _to_go(environment: Environment) -> int | None:
    solution = environment.solution()
    if solution is UNKNOWN:
        return None
    return UNSOLVABLE if solution is None else len(solution)


def _replayed(environment: Environment, turn: Sequence[tuple[str, Drawing | None]]) -> bool:
    """Replays a turn; returns whether it matches the recording."""
    for name, drawing in turn:
        action = environment.resolve(name)
        if action is None:
            return False
        try:
            environment.step(action)
        except RuntimeError:  # the episode is over here, but was not in the recording
            return False
        if environment.drawing() != drawing:
            return False
    return True
