"""Wrappers of what the model reads."""

from __future__ import annotations

from typing import Any

from engine.environments.base import Action, Environment, Info
from engine.environments.spaces import AnyText
from engine.environments.wrappers.base import Step, Wrapper
from engine.environments.wrappers.settings import History


class WithHistory(Wrapper):
    """Observations begin with a line such as `Last actions: Up (-0.1), Left (0)`."""

    def __init__(self, inner: Environment, settings: History) -> None:
        super().__init__(inner)
        self.settings = settings
        self.past: list[str] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.past = []
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> Step:
        name = self.inner.name_of(action) if self.inner.action_space.contains(action) else ""
        _, reward, terminated, truncated, info = super().step(action)
        self.past = [*self.past, f"{name} ({reward:g})"][-self.settings.actions :]
        return self.render(), reward, terminated, truncated, info

    def render(self) -> str:
        observation = self.inner.render()
        return f"Last actions: {', '.join(self.past)}\n{observation}" if self.past else observation

    def _follow_spaces(self) -> None:
        self.action_space, self.observation_space = self.inner.action_space, AnyText(min_length=1)
