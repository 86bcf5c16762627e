"""Rollouts of the small model that has learned the response format, and samplers with scripted responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.config import RunConfig, build_config
from engine.policies.batched_sampler import BatchedSampler
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.types import Response, Trajectory
from tests.engine.models import words
from tests.engine.talker import talking_model

WINDOWS = [
    ("full", 0),
    ("last_k_turns", 1),
    ("last_k_turns", 2),
    ("single_turn_summary", 0),
    ("single_turn_summary", 2),
    ("without_thoughts", 0),
]


def window(context: str, turns: int) -> dict[str, Any]:
    """The settings of a context window; some have no number of turns."""
    return {"type": context} if context in ("full", "without_thoughts") else {"type": context, "turns": turns}


def lake_config(
    context: str = "full", turns: int = 0, *, rollout: dict[str, Any] | None = None, **lake: Any
) -> RunConfig:
    """A run on a lake without holes, which no random player leaves in a hurry."""
    environment = {
        "kind": "frozen_lake",
        "parameters": {"frozen_probability": 1.0},
        "max_turns": 4,
        "max_response_tokens": 12,
        **lake,
    }
    sizes = {"groups": 2, "group_size": 3, "context": window(context, turns), **(rollout or {})}
    return build_config({"environments": [environment], "rollout": sizes})


def context_manager(*, think: bool = True) -> ContextManager:
    return ContextManager(words(), think=think)


def proxy_of(config: RunConfig) -> AgentProxy:
    limit = config.rollout.max_context_tokens
    return AgentProxy.of(config.rollout, context_manager(), max_context_tokens=limit)


def specs_of(config: RunConfig, *, step: int = 1) -> list[EpisodeSpec]:
    rollout = config.rollout
    manager = EnvStateManager(config.environments, groups=rollout.groups, group_size=rollout.group_size, seed=1)
    return manager.training_batch(step)


def roll_out(config: RunConfig, *, step: int = 1) -> list[Trajectory]:
    specs = specs_of(config, step=step)
    sampler = BatchedSampler(
        talking_model(),
        rows=len(specs),
        at_once=config.rollout.rows_at_once,
        stop_ids=context_manager().stop_ids,
        temperature=1.0,
        seeds=[1],
    )
    return proxy_of(config).rollout(sampler, specs)


class Script:
    """Every row says the same: the next of `responses` at each turn, as ids that it was given, or as text."""

    def __init__(self, responses: Sequence[str | list[int]]) -> None:
        self.responses = responses
        self.turns: dict[int, int] = {}
        self.waiting: list[int] = []
        self.submitted: list[list[int]] = []
        self.restarted: list[int] = []

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.waiting.append(row)
        self.submitted.append(ids)

    def restart(self, row: int) -> None:
        self.restarted.append(row)

    def advance(self, *, block: bool = True) -> list[Response]:
        rows, self.waiting = self.waiting, []
        return [self._response(row) for row in rows]

    def release(self, row: int) -> None:
        pass

    def _response(self, row: int) -> Response:
        turn = self.turns.get(row, 0)
        self.turns[row] = turn + 1
        said = self.responses[turn % len(self.responses)]
        ids = [*words().encode(said), words().eos_token_id] if isinstance(said, str) else list(said)
        ended = bool(ids) and ids[-1] == words().eos_token_id
        return Response(row=row, ids=ids, logprobs=[-0.5] * len(ids), entropies=[0.5] * len(ids), ended=ended)


def say(config: RunConfig, responses: Sequence[str | list[int]]) -> list[Trajectory]:
    """One step's trajectories, in which every member says `responses` in turn."""
    return proxy_of(config).rollout(Script(responses), specs_of(config))
