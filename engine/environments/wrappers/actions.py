"""Wrappers of actions: noise, masking, and a limit on their number."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.environments.base import UNKNOWN, Action, Environment, Info, Solution
from engine.environments.spaces import discrete
from engine.environments.wrappers.base import Step, Wrapper
from engine.environments.wrappers.settings import ActionMask, ActionNoise, TimeLimit

NOISE_STREAM = 11


class WithActionNoise(Wrapper):
    """The seed of chance decides which actions are replaced, and by what."""

    def __init__(self, inner: Environment, settings: ActionNoise) -> None:
        super().__init__(inner)
        self.settings = settings
        self._rng = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        started = super().reset(seed=seed, options=options)
        chance = (options or {}).get("chance_seed", seed)
        self._rng = np.random.default_rng([int(chance), NOISE_STREAM] if chance is not None else None)
        return started

    def step(self, action: Action) -> Step:
        replaced = self._rng.random() < self.settings.probability
        if replaced and self.inner.action_space.contains(action):
            other = self.inner.resolve(self.inner.random_action(self._rng))
            action = action if other is None else other
        return super().step(action)


class WithActionMask(Wrapper):
    """The ids are those of the remaining names. A solution that needs a hidden action is not known to be one."""

    def __init__(self, inner: Environment, settings: ActionMask) -> None:
        self.hidden = {name.lower() for name in settings.hidden}
        super().__init__(inner)

    def action_names(self) -> list[str] | None:
        names = self.inner.action_names()
        return None if names is None else [name for name in names if name.lower() not in self.hidden]

    def describe(self) -> str:
        return f"{self.inner.describe()}\nNot available: {', '.join(sorted(self.hidden))}."

    def resolve(self, text: str) -> Action | None:
        return None if text.lower() in self.hidden else Environment.resolve(self, text)

    def name_of(self, action: Action) -> str:
        return Environment.name_of(self, action)

    def random_action(self, rng: np.random.Generator) -> str:
        return Environment.random_action(self, rng) if self.action_names() else self.inner.random_action(rng)

    def solution(self) -> Solution:
        found = self.inner.solution()
        if found is None or found is UNKNOWN:
            return found
        inner_names = [self.inner.name_of(action) for action in found]
        if any(name.lower() in self.hidden for name in inner_names):
            return UNKNOWN
        return inner_names

    def step(self, action: Action) -> Step:
        if isinstance(action, int | np.integer):
            names = self.action_names() or []
            known = 0 <= action < len(names)
            # an id that is none stays one for the inner environment, which refuses it
            action = self.inner.resolve(names[int(action)]) if known else -1  # type: ignore[assignment]
        return super().step(action)

    def _follow_spaces(self) -> None:
        super()._follow_spaces()
        names = self.inner.action_names()
        if names is not None and any(names):
            self.action_space = discrete(max(1, len(self.action_names() or [])))


class WithTimeLimit(Wrapper):
    def __init__(self, inner: Environment, settings: TimeLimit) -> None:
        super().__init__(inner)
        self.settings = settings
        self.actions = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.actions = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> Step:
        if self.actions >= self.settings.actions:
            self._check_in_progress(over=True)
        observation, reward, terminated, truncated, info = super().step(action)
        self.actions += 1
        over = not terminated and self.actions >= self.settings.actions
        return observation, reward, terminated, truncated or over, info
