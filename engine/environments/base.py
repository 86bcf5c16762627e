"""The base class of environments: a `gymnasium.Env` whose observation is the text the model reads.

An environment owns its rules, its text and its drawing. It knows nothing of prompts, budgets, penalties, tokens or
groups: those belong to `engine.rollout`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, cast

import gymnasium
from pydantic import BaseModel, ConfigDict

Drawing = dict[str, Any]
Info = dict[str, Any]


class EnvironmentParameters(BaseModel):
    """Base of each kind's parameters: no extra fields, immutable, every field with a `description`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def discrete(count: int) -> gymnasium.Space[int]:
    """The ids 0 to `count - 1`; gymnasium types its own space with numpy's integers."""
    return cast("gymnasium.Space[int]", gymnasium.spaces.Discrete(count))


class Environment(gymnasium.Env[str, int]):
    """One episode of a text environment.

    `reset(seed=...)` determines the problem and its first observation, so the members of a group, who share a seed,
    share a prompt. `reset(seed=..., options={"chance_seed": n})` seeds only random outcomes, such as slips and random
    rewards, which must differ between members; it defaults to the seed. Two instances with the same parameters, seed
    and chance seed behave identically for the same actions.

    `step` takes the id of an action (its index in `action_names()`). After the end of the episode, or before the first
    reset, it raises `RuntimeError`; for an invalid id `ValueError`. Its info always has `action_is_valid`,
    `action_is_effective` (whether anything changed) and `success`, all bool.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]  # one sentence for the list of environments
    Config: ClassVar[type[EnvironmentParameters]]
    default_instruction: ClassVar[str]  # one or two sentences for the system prompt; users may replace it
    default_budget: ClassVar[dict[str, int]]  # max_turns, max_actions_per_turn, max_actions, max_response_tokens

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}

    def __init__(self, config: EnvironmentParameters) -> None:
        self.config = config

    @abstractmethod
    def action_names(self) -> list[str]:
        """The names of all actions in this state, in the order of their ids."""

    @abstractmethod
    def describe(self) -> str:
        """The legend for the system prompt: symbols and actions with these parameters."""

    @abstractmethod
    def render(self) -> str:
        """The observation of the current state, as returned by `reset` and `step`."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """The current state as JSON for the viewer.

        Grids: `{"type": "grid", "rows": R, "columns": C, "cells": [[name, ...], ...], "agent": [row, column],
        "agent_state": "ok" | "in_hole" | "on_goal" | "on_target"}` with cell names `floor wall hole goal start
        target box box_on_target`. Arms: `{"type": "arms", "arms": [{"name": str, "pulled": bool, "reward":
        float | None}]}`.
        """

    @abstractmethod
    def solution(self) -> list[int] | None:
        """A shortest list of action ids from the current state to success if nothing slips; None if there is none."""

    def observe(self) -> str:
        return self.render()

    def checked(self, action: int, *, over: bool) -> int:
        """Validates `action`; to be called first in `step`. Raises for an invalid action, or if the episode is over."""
        if over:
            raise RuntimeError("No episode is in progress; call reset before step.")
        if not self.action_space.contains(action):
            names = ", ".join(f"{index} {name}" for index, name in enumerate(self.action_names()))
            raise ValueError(f"{action!r} is not an action of {self.kind}; the actions are {names}.")
        return int(action)
