"""What every environment is: a `gymnasium.Env` whose observation is the text the model reads.

An environment owns its rules, its words and its drawing. It knows nothing of prompts, budgets,
penalties, tokens or groups: those belong to `engine.rollout`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, cast

import gymnasium
from pydantic import BaseModel, ConfigDict

Drawing = dict[str, Any]
Info = dict[str, Any]


class EnvironmentParameters(BaseModel):
    """Base of each kind's parameters: closed and frozen, every field with a `description`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def discrete(count: int) -> gymnasium.Space[int]:
    """The ids 0 to `count - 1`; gymnasium types its own space by numpy's integers."""
    return cast("gymnasium.Space[int]", gymnasium.spaces.Discrete(count))


class Environment(gymnasium.Env[str, int]):
    """One episode of a text environment.

    `reset(seed=...)` decides the problem and its first observation, so the members of a group, who share
    a seed, share a prompt. `reset(seed=..., options={"chance_seed": n})` decides luck alone: slips and
    chance rewards, which must differ between members. Left out, it is the seed. Two instances with the
    same parameters, seed and chance seed give, for the same actions, the same everything.

    `step` takes the id of an action (its place in `action_names()`); after the end, or before the first
    reset, it raises `RuntimeError`, and for an id that is none `ValueError`. Its info always carries
    `action_is_valid`, `action_is_effective` (did anything change) and `success`, all bool.
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
        """Symbols and actions as they really are with these parameters: the legend of the system prompt."""

    @abstractmethod
    def render(self) -> str:
        """The observation of the present state, as `reset` and `step` return it."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """The present state as JSON for the viewer.

        Grids: `{"type": "grid", "rows": R, "columns": C, "cells": [[name, ...], ...], "agent": [row, column],
        "agent_state": "ok" | "in_hole" | "on_goal" | "on_target"}` with cell names `floor wall hole goal start
        target box box_on_target`. Arms: `{"type": "arms", "arms": [{"name": str, "pulled": bool, "reward":
        float | None}]}`.
        """

    @abstractmethod
    def solution(self) -> list[int] | None:
        """A shortest list of action ids from here to success when nothing slips, or None if there is none."""

    def observe(self) -> str:
        return self.render()

    def checked(self, action: int, *, over: bool) -> int:
        """`action` as an int, for `step` to call first; raises when it is no action or the episode is over."""
        if over:
            raise RuntimeError("No episode is going on; call reset before step.")
        if not self.action_space.contains(action):
            names = ", ".join(f"{index} {name}" for index, name in enumerate(self.action_names()))
            raise ValueError(f"{action!r} is no action of {self.kind}; the actions are {names}.")
        return int(action)
