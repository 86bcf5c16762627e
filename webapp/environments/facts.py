"""Facts about an environment before any model plays it: first states, and results of scripted players.

Everything here runs the real environment. A slow kind gets fewer episodes; the number of episodes is recorded.
"""

from __future__ import annotations

import time
from typing import Any, TypedDict

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.base import UNKNOWN
from engine.environments.players import PLAYERS, baseline

FIRST_SEED = 500_000
EPISODES = 64
BATCH = 8
SECONDS = 1.0


class FirstState(TypedDict):
    seed: int
    observation: str
    drawing: dict[str, Any]
    optimal_length: int | None


class Baseline(TypedDict):
    """Results of one scripted player over the `episodes` that it completed in time."""

    player: str
    episodes: int
    success: float
    mean_return: float


class Facts(TypedDict):
    drawing: dict[str, Any] | None
    baselines: list[Baseline]
    problem: str  # why the environment cannot be played, if it cannot


def first_states(config: EnvironmentConfig, seeds: list[int]) -> list[FirstState]:
    """The first state of each seed."""
    environment = make_environment(config.kind, **config.parameters)
    states: list[FirstState] = []
    for seed in seeds:
        observation, _ = environment.reset(seed=seed)
        solution = environment.solution()
        states.append(
            FirstState(
                seed=seed,
                observation=observation,
                drawing=environment.drawing(),
                optimal_length=len(solution) if solution is not None and solution is not UNKNOWN else None,
            )
        )
    return states


def baselines(config: EnvironmentConfig, *, episodes: int = EPISODES, seconds: float = SECONDS) -> list[Baseline]:
    """Every scripted player on the same problems, for at most `seconds` each."""
    return [_baseline(config, player, episodes, seconds) for player in PLAYERS]


def facts_of(config: EnvironmentConfig) -> Facts:
    """Facts for a card; of an environment that raises, the error."""
    try:
        drawing = first_states(config, [FIRST_SEED])[0]["drawing"]
        return Facts(drawing=drawing, baselines=baselines(config), problem="")
    except Exception as error:  # user code may raise anything
        return Facts(drawing=None, baselines=[], problem=f"{type(error).__name__}: {error}")


def _baseline(config: EnvironmentConfig, player: str, episodes: int, seconds: float) -> Baseline:
    deadline = time.monotonic() + seconds
    batches = [baseline(config, player, episodes=BATCH, first_seed=FIRST_SEED)]
    while len(batches) * BATCH < episodes and time.monotonic() < deadline:
        batches.append(baseline(config, player, episodes=BATCH, first_seed=FIRST_SEED + len(batches) * BATCH))
    return Baseline(
        player=player,
        episodes=len(batches) * BATCH,
        success=sum(batch.success for batch in batches) / len(batches),
        mean_return=sum(batch.mean_return for batch in batches) / len(batches),
    )
