"""Imperfect scripted play as trajectories of exact token ids, which the small model imitates before any RL.

The players use the same AgentProxy, prompts and parser as a training run, so the small model knows the format when
StarPO starts. A share of their moves is random: they describe the state correctly and often act badly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.config import EnvironmentConfig
from engine.environments.base import UNKNOWN
from engine.models.tiny.thoughts import THINKERS
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_pool import local_environments
from engine.rollout.episode import Episode
from engine.rollout.types import Response, Trajectory

RANDOM_SHARE = 0.4
FIRST_SEED = 2_100_000_000  # beyond training and held-out seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class MixComponent:
    """An environment of the imitation data and its share."""

    share: float
    config: dict[str, Any]


def _lake(share: float, turn: int = 2, **parameters: Any) -> MixComponent:
    return MixComponent(
        share=share,
        config={
            "kind": "frozen_lake",
            "parameters": parameters,
            "max_actions_per_turn": turn,
            "max_response_tokens": 60,
        },
    )


def _sokoban(share: float, turn: int = 2, **parameters: Any) -> MixComponent:
    return MixComponent(
        share=share,
        config={"kind": "sokoban", "parameters": parameters, "max_actions_per_turn": turn, "max_response_tokens": 60},
    )


MIX: tuple[MixComponent, ...] = (
    _lake(0.44),
    _lake(0.08, turn=1),
    _lake(0.04, turn=3),
    _lake(0.04, success_rate=0.8),
    _lake(0.03, format="grid_and_coordinates"),
    _lake(0.03, format="coordinates"),
    _sokoban(0.20),
    _sokoban(0.04, turn=1),
    _sokoban(0.03, turn=4),
    _sokoban(0.02, format="grid_and_coordinates"),
    MixComponent(share=0.04, config={"kind": "bandit"}),
    MixComponent(share=0.01, config={"kind": "bandit", "parameters": {"reversed": True}}),
)


class ScriptedSampler:
    """A `ResponseSampler` that generates responses by script instead of with a model."""

    def __init__(self, episodes: Mapping[int, Episode], context: ContextManager, rng: np.random.Generator) -> None:
        self.episodes = episodes
        self.context = context
        self.rng = rng
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
        ids = [*self.context.encode(self._write(self.episodes[row])), self.context.tokenizer.eos_token_id]
        zeros = [0.0] * len(ids)
        return Response(row=row, ids=ids, logprobs=zeros, entropies=zeros, ended=True)

    def _write(self, episode: Episode) -> str:
        names = episode.environment.action_names() or []
        plan = [names[action] for action in self._plan(episode, len(names))]
        thought = THINKERS[episode.config.kind](episode.environment.drawing(), plan, self.rng)
        return f"{thought}</think><answer>{' || '.join(plan)}</answer>"

    def _plan(self, episode: Episode, count: int) -> list[int]:
        """The next moves of a shortest solution, each replaced by a random one with `RANDOM_SHARE`."""
        found = episode.environment.solution()
        best = [] if found is None or found is UNKNOWN else found
        length = min(episode.config.max_actions_per_turn, max(1, len(best)))
        return [
            best[i] if i < len(best) and self.rng.random() > RANDOM_SHARE else int(self.rng.integers(count))
            for i in range(length)
        ]


def play(context: ContextManager, *, episodes: int, seed: int) -> list[Trajectory]:
    """`episodes` trajectories over the mix, in random order; the same for the same seed."""
    rng = np.random.default_rng([seed, 17])
    shares = np.array([component.share for component in MIX])
    kinds = rng.choice(len(MIX), size=episodes, p=shares / shares.sum())
    configs = [EnvironmentConfig.model_validate(component.config) for component in MIX]
    specs = [
        EpisodeSpec(environment=configs[kind], group=i, member=0, seed=FIRST_SEED + seed * 1_000_000 + i, chance_seed=i)
        for i, kind in enumerate(kinds)
    ]
    proxy = AgentProxy(context, think=True, max_context_tokens=1024)
    players = proxy.players(specs)
    with local_environments(0) as environments:
        proxy.play(ScriptedSampler(environments.episodes, context, rng), players, environments=environments)
    return [player.trajectory for player in players]
