"""Any registered gymnasium environment with discrete or text actions, as a text environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import (
    Action,
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Solution,
    step_info,
)
from engine.environments.gymnasium_adapter.known import Known, known_of, text_actions, text_of_observation
from engine.environments.gymnasium_adapter.planning import plan
from engine.environments.spaces import AnyText, discrete
from engine.errors import ConfigError

Success = Literal["auto", "terminated", "positive_reward", "return"]
SUCCESSES = ("terminated", "positive_reward", "return")


class GymnasiumParameters(EnvironmentParameters):
    env_id: str = Field(
        "Taxi-v4",
        pattern=r"^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_.-]+-v\d+$",
        max_length=120,
        description="Registered id, such as Taxi-v4 or Namespace/Name-v0. Packages register theirs when installed.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description='Arguments of the environment, as JSON: {"is_slippery": false}.'
    )
    action_names: list[str] = Field(
        default_factory=list,
        max_length=1000,
        description="Names of the actions by their numbers. Empty: those known for the id, else Action 0, Action 1, …",
    )
    success: Success = Field(
        "auto",
        description="What a successful episode ends with. terminated: any end other than a time limit. "
        "positive_reward: an end with a reward above 0. return: a return of success_return or more. auto: what is "
        "known for the id, else positive_reward.",
    )
    success_return: float | None = Field(
        None, description="return: the minimum return that counts as success. Empty: the id's registered threshold."
    )
    max_steps: int = Field(
        0, ge=0, le=100_000, description="Actions after which the episode is truncated. 0: the id's registered limit."
    )

    @model_validator(mode="after")
    def _check_registered(self) -> GymnasiumParameters:
        try:
            gymnasium.spec(self.env_id)
        except gymnasium.error.Error as error:
            raise ValueError(f"env_id: {error} Install the package that registers it, or correct the id.") from None
        return self


class GymnasiumEnvironment(Environment):
    """An environment of the gymnasium registry.

    Description: whatever the id stands for; toy-text and classic-control environments read well, as their states have
    words here.
    Actions: names for a discrete space, free text for a text space; other spaces are refused.
    Observations: the environment's own text where it has one, else its observation as text.
    Starting state: that of `reset(seed=...)`; the seed of chance takes over the generator after the reset.
    Rewards: the environment's own.
    Episode end: terminated or truncated, as the environment says.
    Arguments: see the parameters.
    Differences from RAGEN: RAGEN has no such adapter.
    """

    kind: ClassVar[str] = "gymnasium"
    title: ClassVar[str] = "Gymnasium"
    summary: ClassVar[str] = "Any registered gymnasium environment with discrete or text actions, such as Taxi."
    Config = GymnasiumParameters
    default_instruction: ClassVar[str] = "Reach the goal of the environment with as few actions as you can."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 10,
        "max_actions_per_turn": 3,
        "max_actions": 30,
        "max_response_tokens": 60,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Taxi": {},
        "CliffWalking": {"parameters": {"env_id": "CliffWalking-v1"}},
        "Blackjack": {"parameters": {"env_id": "Blackjack-v1"}, "max_turns": 8, "max_actions_per_turn": 1},
        "CartPole": {"parameters": {"env_id": "CartPole-v1", "max_steps": 60, "success_return": 60.0}, "max_turns": 20},
    }
    config: GymnasiumParameters

    def __init__(self, config: GymnasiumParameters) -> None:
        super().__init__(config)
        self.known = known_of(config.env_id)
        self.game = _make(config, self.known)
        self.text_actions = text_actions(self.game.action_space)
        self.names = _names(config, self.known, self.game.action_space)
        self.first_action = int(getattr(self.game.action_space, "start", 0))
        self.action_space = AnyText() if self.text_actions else discrete(len(self.names))
        self.observation_space = AnyText(min_length=1)
        self.success_by = self.known.success if config.success == "auto" else config.success
        self.text = ""
        self.total = 0.0
        self.steps = 0
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        observation, _ = self.game.reset(seed=seed)
        chance = int((options or {}).get("chance_seed", seed))
        self.game.unwrapped.np_random = np.random.default_rng([chance, 5])
        self.text, self.total, self.steps, self.over = self._text(observation), 0.0, 0, False
        return self.text, {}

    def step(self, action: Action) -> tuple[str, float, bool, bool, Info]:
        checked: Any = self.checked_text(action, over=self.over) if self.text_actions else self._number(action)
        valid = not self.text_actions or self.game.action_space.contains(checked)
        if not valid:  # gymnasium's own text spaces are bounded, and what is outside means nothing to them
            return self.text, 0.0, False, False, step_info(valid=False, effective=False, success=False)
        before = self.text
        observation, reward, terminated, truncated, _ = self.game.step(checked)
        self.steps += 1
        self.total += float(reward)
        self.text = self._text(observation)
        truncated = bool(truncated) or (not terminated and 0 < self.config.max_steps <= self.steps)
        self.over = bool(terminated) or truncated
        info = step_info(effective=self.text != before, success=self._success(float(reward), bool(terminated)))
        return self.text, float(reward), bool(terminated), truncated, info

    def action_names(self) -> list[str] | None:
        return None if self.text_actions else list(self.names)

    def describe(self) -> str:
        lines = [self.known.legend, "" if self.text_actions else f"Actions: {', '.join(self.names)}."]
        return "\n".join(line for line in lines if line) or f"The environment is {self.config.env_id}."

    def render(self) -> str:
        return self.text

    def drawing(self) -> Drawing:
        return {"type": "text", "text": self.text}

    def solution(self) -> Solution:
        if self.over:
            return super().solution()
        return plan(self.game.unwrapped, self._success)

    def close(self) -> None:
        self.game.close()

    def _number(self, action: Action) -> int:
        return self.checked(action, over=self.over) + self.first_action

    def _text(self, observation: Any) -> str:
        text = self.known.text(self.game, observation) if self.known.text else text_of_observation(observation)
        return text or "(empty)"

    def _success(self, reward: float, terminated: bool) -> bool:
        if self.success_by == "return":
            return self.total >= self._threshold()
        return terminated and (self.success_by == "terminated" or reward > 0)

    def _threshold(self) -> float:
        if self.config.success_return is not None:
            return self.config.success_return
        registered = self.game.spec.reward_threshold if self.game.spec else None
        return registered if registered is not None else float("inf")


def _make(config: GymnasiumParameters, known: Known) -> gymnasium.Env[Any, Any]:
    arguments = {**known.options, **config.options}
    if known.render:
        arguments.setdefault("render_mode", "ansi")
    try:
        # the order of calls is checked here, so that its wrapper can go
        spec = replace(gymnasium.spec(config.env_id), order_enforce=False)
        return gymnasium.make(spec, disable_env_checker=True, **arguments)
    except Exception as error:  # whatever the constructor raises
        raise ConfigError(
            f"{config.env_id} cannot be made with {arguments}: {type(error).__name__}: {error}",
            remedy="Correct parameters.options, or install what the environment needs.",
        ) from error


def _names(config: GymnasiumParameters, known: Known, space: gymnasium.Space[Any]) -> list[str]:
    if text_actions(space):
        return []
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise ConfigError(
            f"{config.env_id} has the action space {space}.", remedy="Use an environment with discrete or text actions."
        )
    count = int(space.n)
    names = config.action_names or list(known.actions) or [f"Action {index}" for index in range(count)]
    if len(names) != count:
        raise ConfigError(
            f"{config.env_id} has {count} actions, and parameters.action_names has {len(names)}.",
            remedy=f"Give {count} names, or none.",
        )
    return names
