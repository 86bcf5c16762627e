"""Facts about an environment before any model plays it: first states, results of scripted players, and the lengths of
solutions. A slow kind gets fewer episodes; the number of episodes is recorded.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any, TypedDict

from engine.config import EnvironmentConfig
from engine.environments import environment_of
from engine.environments.base import UNKNOWN, Environment
from engine.environments.players import PLAYERS, baseline

FIRST_SEED = 500_000
EPISODES = 64
BATCH = 8
SECONDS = 1.0


class FirstState(TypedDict):
    """`solution` is known, unknown, or impossible; `optimal_length` is None unless it is known."""

    seed: int
    observation: str
    drawing: dict[str, Any]
    solution: str
    optimal_length: int | None


class Baseline(TypedDict):
    """Results of one scripted player over the `episodes` that it completed in time."""

    player: str
    episodes: int
    success: float
    mean_return: float


def first_states(config: EnvironmentConfig, seeds: list[int]) -> list[FirstState]:
    """The first state of each seed."""
    with closing(environment_of(config)) as environment:
        return [_first_state(environment, seed) for seed in seeds]


def _first_state(environment: Environment, seed: int) -> FirstState:
    observation, _ = environment.reset(seed=seed)
    solution = environment.solution()
    length = len(solution) if solution is not None and solution is not UNKNOWN else None
    known = "unknown" if solution is UNKNOWN else "impossible" if solution is None else "known"
    return FirstState(
        seed=seed, observation=observation, drawing=environment.drawing(), solution=known, optimal_length=length
    )


def baselines(config: EnvironmentConfig, *, episodes: int = EPISODES, seconds: float = SECONDS) -> list[Baseline]:
    """Every scripted player on the same problems, for at most `seconds` each."""
    return [_baseline(config, player, episodes, seconds) for player in PLAYERS]


def _baseline(config: EnvironmentConfig, player: str, episodes: int, seconds: float) -> Baseline:
    """Single episodes after the time is up make no batch: a slow kind gets as many episodes as fit."""
    deadline = time.monotonic() + seconds
    size = 1 if _is_slow(config, player, seconds) else BATCH
    batches = [baseline(config, player, episodes=size, first_seed=FIRST_SEED)]
    while len(batches) * size < episodes and time.monotonic() < deadline:
        batches.append(baseline(config, player, episodes=size, first_seed=FIRST_SEED + len(batches) * size))
    return Baseline(
        player=player,
        episodes=len(batches) * size,
        success=sum(batch.success for batch in batches) / len(batches),
        mean_return=sum(batch.mean_return for batch in batches) / len(batches),
    )


def _is_slow(config: EnvironmentConfig, player: str, seconds: float) -> bool:
    """Whether a whole batch would take longer than `seconds`, as the first episode shows."""
    started = time.monotonic()
    baseline(config, player, episodes=1, first_seed=FIRST_SEED)
    return (time.monotonic() - started) * BATCH > seconds
