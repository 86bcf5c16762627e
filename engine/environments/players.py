"""Players without a model, random and scripted, as baselines for one.

A player chooses all actions of a turn at once, as a model does, so it sees slips only after the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.config import EnvironmentConfig
from engine.environments.base import UNKNOWN, Environment
from engine.environments.registry import environment_of
from engine.errors import ConfigError

# returns the names of the next actions, at most as many as the turn allows
Player = Callable[[Environment, int, np.random.Generator], list[str]]


def play_randomly(environment: Environment, most: int, rng: np.random.Generator) -> list[str]:
    """Random names of actions; of free text, random samples of what `random_action` writes."""
    return [environment.random_action(rng) for _ in range(most)]


def play_scripted(environment: Environment, most: int, rng: np.random.Generator) -> list[str]:
    """The next actions of a shortest solution; where none is known, one of the environment's own scripted player."""
    solution = environment.solution()
    if not solution or solution is UNKNOWN:
        return [environment.scripted_action(rng)]
    return [environment.name_of(action) for action in solution[:most]]


def mixed(random_share: float) -> Player:
    """Plays a shortest solution, but replaces each action with this probability by a random one."""
    if not 0 <= random_share <= 1:
        raise ConfigError(f"random_share is {random_share:g}.", remedy="Give a share from 0 to 1.")

    def play(environment: Environment, most: int, rng: np.random.Generator) -> list[str]:
        best = play_scripted(environment, most, rng)
        noise = play_randomly(environment, len(best), rng)
        return [other if rng.random() < random_share else name for name, other in zip(best, noise, strict=True)]

    return play


PLAYERS: dict[str, Player] = {"random": play_randomly, "scripted": play_scripted}


def player_named(name: str) -> Player:
    """`random`, `optimal`, or `mixed:0.4` for one whose actions are random with a share of 0.4."""
    if name in PLAYERS:
        return PLAYERS[name]
    kind, _, share = name.partition(":")
    try:
        if kind == "mixed":
            return mixed(float(share))
    except ValueError:
        pass
    raise ConfigError(f"There is no player {name!r}.", remedy=f"Choose {', '.join(PLAYERS)} or mixed:<random share>.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    player: str
    episodes: int
    success: float
    mean_return: float


def baseline(config: EnvironmentConfig, player: str, *, episodes: int = 100, first_seed: int = 0) -> Baseline:
    """Success and mean return of a scripted player within the configuration's budgets of turns and actions."""
    play = player_named(player)
    rng = np.random.default_rng([first_seed, episodes])
    environment = environment_of(config)
    results = [_episode(environment, config, play, first_seed + index, rng) for index in range(episodes)]
    return Baseline(
        player=player,
        episodes=episodes,
        success=sum(success for success, _ in results) / episodes,
        mean_return=sum(total for _, total in results) / episodes,
    )


def _episode(
    environment: Environment, config: EnvironmentConfig, play: Player, seed: int, rng: np.random.Generator
) -> tuple[bool, float]:
    environment.reset(seed=seed)
    total, actions = 0.0, 0
    for _ in range(config.max_turns):
        most = min(config.max_actions_per_turn, config.max_actions - actions)
        for name in play(environment, most, rng):
            action = environment.resolve(name)
            if action is None:  # the actions have changed within the turn
                break
            _, reward, terminated, truncated, info = environment.step(action)
            total += float(reward)
            actions += 1
            if terminated or truncated:
                return bool(info["success"]), total
    return False, total
