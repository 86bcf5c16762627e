"""Scripted players: what chance and foresight reach, to compare a model with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.config import EnvironmentConfig
from engine.environments.base import Environment
from engine.environments.feasibility import action_budget
from engine.environments.registry import make_environment

Player = Callable[[Environment, np.random.Generator], int]


def play_randomly(environment: Environment, chance: np.random.Generator) -> int:
    return int(chance.integers(len(environment.action_names())))


def play_optimally(environment: Environment, chance: np.random.Generator) -> int:
    """The first move of a shortest solution; a random one where there is none."""
    solution = environment.solution()
    return solution[0] if solution else play_randomly(environment, chance)


PLAYERS: dict[str, Player] = {"random": play_randomly, "optimal": play_optimally}


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    player: str
    episodes: int
    success: float
    mean_return: float


def baseline(config: EnvironmentConfig, player: str, *, episodes: int = 100, first_seed: int = 0) -> Baseline:
    """Success and mean return of a scripted player within the configuration's action budget."""
    chance = np.random.default_rng([first_seed, episodes])
    environment = make_environment(config.kind, **config.parameters)
    results = [
        _episode(environment, PLAYERS[player], first_seed + index, action_budget(config), chance)
        for index in range(episodes)
    ]
    return Baseline(
        player=player,
        episodes=episodes,
        success=sum(success for success, _ in results) / episodes,
        mean_return=sum(total for _, total in results) / episodes,
    )


def _episode(
    environment: Environment, player: Player, seed: int, budget: int, chance: np.random.Generator
) -> tuple[bool, float]:
    environment.reset(seed=seed)
    total = 0.0
    for _ in range(budget):
        _, reward, terminated, truncated, info = environment.step(player(environment, chance))
        total += float(reward)
        if terminated or truncated:
            return bool(info["success"]), total
    return False, total
