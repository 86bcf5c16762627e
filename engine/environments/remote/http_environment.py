"""An environment behind the environment protocol."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field

from engine.environments import base
from engine.environments.base import (
    SERVER_ADDRESS,
    UNKNOWN,
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Solution,
)
from engine.environments.remote.client import EnvironmentClient
from engine.environments.remote.protocol import About, Action, Begun, Start, State
from engine.environments.spaces import AnyText, discrete


class HttpParameters(EnvironmentParameters):
    url: str = Field(
        "http://127.0.0.1:8090",
        pattern=r"^https?://[^\s/]+(/[^\s]*)?$",
        max_length=500,
        description="Address of the server. `python -m engine serve-environment KIND` starts one.",
    )
    request_seconds: float = Field(30.0, gt=0, le=3600, description="Time limit of one request.")
    retry_seconds: float = Field(
        10.0, ge=0, le=3600, description="How long an unreachable server is retried before the run stops."
    )


class HttpEnvironment(Environment):
    """An environment that runs on a server.

    Description: slow, foreign or untrusted environments run elsewhere and speak `engine.environments.remote.protocol`.
    Actions: those that the server names for a state, or free text.
    Observations: the server's.
    Starting state: the server resets with our seed, seed of chance and split.
    Rewards: the server's.
    Episode end: the server's.
    Arguments: address and time limits; a token is read from `STARBOARD_ENVIRONMENT_TOKEN`.
    Differences from RAGEN: RAGEN has no remote environments.
    """

    kind: ClassVar[str] = "http"
    title: ClassVar[str] = "HTTP server"
    summary: ClassVar[str] = "An environment on your own server, over a small JSON protocol."
    Config = HttpParameters
    needs: ClassVar[str] = "a server that speaks the environment protocol"
    restricted: ClassVar[str] = SERVER_ADDRESS
    default_instruction: ClassVar[str] = "Do what the environment asks for."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 5,
        "max_actions_per_turn": 2,
        "max_actions": 10,
        "max_response_tokens": 200,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    config: HttpParameters

    def __init__(self, config: HttpParameters) -> None:
        super().__init__(config)
        self.client = EnvironmentClient(config.url, seconds=config.request_seconds, retry_seconds=config.retry_seconds)
        self.about = _about(config)
        vars(self).update(
            separator=self.about.separator,
            answer_form=self.about.answer_form,
            split_by=self.about.split_by,
            info_metrics=self.about.info_metrics,
        )
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.begun: Begun | None = None
        self.state = State(observation="")
        self.steps = 0
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        self.close()
        chance = int((options or {}).get("chance_seed", seed))
        self.begun = self.client.begin(Start(seed=seed, chance_seed=chance, split=base.split_of(options)))
        self.steps, self.over = 0, False
        return self._show(self.begun.state), {}

    def step(self, action: base.Action) -> tuple[str, float, bool, bool, Info]:
        names = self.state.actions
        text = (
            self.checked_text(action, over=self.over) if names is None else names[self.checked(action, over=self.over)]
        )
        assert self.begun is not None  # noqa: S101, the episode is in progress
        outcome = self.client.step(self.begun.episode, Action(index=self.steps, action=text))
        self.steps += 1
        self.over = outcome.terminated or outcome.truncated
        return self._show(outcome.state), outcome.reward, outcome.terminated, outcome.truncated, outcome.info

    def action_names(self) -> list[str] | None:
        return None if self.state.actions is None else list(self.state.actions)

    def describe(self) -> str:
        return self.about.legend or self.about.title

    def render(self) -> str:
        return self.state.observation

    def drawing(self) -> Drawing:
        return self.state.drawing or {"type": "text", "text": self.state.observation}

    def solution(self) -> Solution:
        """The server's, for the first state; it is not asked again."""
        if self.begun is None or self.begun.solution == "unknown" or self.steps:
            return UNKNOWN
        return self.begun.solution

    def problem(self) -> str:
        return self.begun.problem if self.begun else ""

    @property
    def episode(self) -> str:
        """The server's name of the episode in progress; empty if there is none."""
        return self.begun.episode if self.begun else ""

    def close(self) -> None:
        if self.begun is not None:
            self.client.end(self.begun.episode)
            self.begun, self.over = None, True

    def _show(self, state: State) -> str:
        self.state = state
        self.action_space = AnyText() if state.actions is None else discrete(max(1, len(state.actions)))
        return state.observation


@lru_cache(maxsize=64)
def _about(config: HttpParameters) -> About:
    return EnvironmentClient(config.url, seconds=config.request_seconds, retry_seconds=config.retry_seconds).about()
