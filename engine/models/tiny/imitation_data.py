"""Imperfect scripted play as trajectories of exact token ids, which the small model imitates before any RL.

The players use the same AgentProxy, prompts and parser as a training run, so the small model knows the format when
StarPO starts. A share of their moves is random: they describe the state correctly and often act badly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.config import EnvironmentConfig
from engine.environments.base import UNKNOWN, Environment
from engine.environments.players import Player
from engine.models.tiny.recipes import Recipe
from engine.models.tiny.thoughts import thought
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_pool import local_environments
from engine.rollout.episode import Episode
from engine.rollout.types import Response, Trajectory

FIRST_SEED = 2_100_000_000  # beyond training and held-out seeds


class ScriptedSampler:
    """A `ResponseSampler` whose responses a scripted `player` writes instead of a model, the same for all episodes or
    one for each."""

    def __init__(
        self,
        episodes: Mapping[int, Episode],
        context: ContextManager,
        rng: np.random.Generator,
        *,
        player: Player | Mapping[int, Player],
    ) -> None:
        self.episodes = episodes
        self.context = context
        self.rng = rng
        self.player = player
        self.waiting: list[int] = []

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.waiting.append(row)

    def restart(self, row: int) -> None:
        pass

    def advance(self, *, block: bool = True) -> list[Response]:
        rows, self.waiting = self.waiting, []
        return [self._response(row) for row in rows]

    def release(self, row: int) -> None:
        pass

    def _response(self, row: int) -> Response:
        ids = [*self.context.encode(self._write(row)), self.context.tokenizer.eos_token_id]
        zeros = [0.0] * len(ids)
        return Response(row=row, ids=ids, logprobs=zeros, entropies=zeros, ended=True)

    def _write(self, row: int) -> str:
        episode = self.episodes[row]
        environment = episode.environment
        player = self.player[row] if isinstance(self.player, Mapping) else self.player
        plan = player(environment, episode.config.max_actions_per_turn, self.rng)
        answer = f" {environment.separator} ".join(plan)
        return f"{thought(environment, plan, self.rng)}</think><answer>{answer}</answer>"


def imperfect(random_share: float) -> Player:
    """Plays the next actions of a shortest solution, or of the environment's own scripted player where none is known,
    and replaces each with this probability by a random one."""

    def play_turn(environment: Environment, most: int, rng: np.random.Generator) -> list[str]:
        best = _best(environment, rng)
        return [
            best[i] if i < len(best) and rng.random() > random_share else environment.random_action(rng)
            for i in range(min(most, max(1, len(best))))
        ]

    return play_turn


def _best(environment: Environment, rng: np.random.Generator) -> list[str]:
    found = environment.solution()
    if found is UNKNOWN:
        return [environment.scripted_action(rng)]
    return [environment.name_of(action) for action in found or []]


def play(context: ContextManager, recipe: Recipe, *, episodes: int, seed: int) -> list[Trajectory]:
    """`episodes` trajectories over the mix of `recipe`, in random order; the same for the same seed."""
    rng = np.random.default_rng([seed, 17])
    shares = np.array([component.share for component in recipe.mix])
    kinds = rng.choice(len(recipe.mix), size=episodes, p=shares / shares.sum())
    configs = [EnvironmentConfig.model_validate(component.config) for component in recipe.mix]
    shares_of_random = [recipe.random_share if c.random_share is None else c.random_share for c in recipe.mix]
    specs = [
        EpisodeSpec(environment=configs[kind], group=i, member=0, seed=FIRST_SEED + seed * 1_000_000 + i, chance_seed=i)
        for i, kind in enumerate(kinds)
    ]
    proxy = AgentProxy(context, think=True, max_context_tokens=recipe.max_context_tokens, window=recipe.window)
    players = proxy.players(specs)
    with local_environments(0) as environments:
        each = {row: imperfect(shares_of_random[kind]) for row, kind in enumerate(kinds)}
        sampler = ScriptedSampler(environments.episodes, context, rng, player=each)
        proxy.play(sampler, players, environments=environments)
    return [player.trajectory for player in players]
