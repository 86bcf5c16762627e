"""`Wrapper`: an environment around another one, which it is but for what the wrapper changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.environments.base import Action, Drawing, Environment, Info, Solution

INHERITED = (
    "kind",
    "title",
    "summary",
    "Config",
    "default_instruction",
    "default_budget",
    "separator",
    "answer_form",
    "split_by",
    "info_metrics",
    "examples",
)
Step = tuple[str, float, bool, bool, Info]


class Wrapper(Environment):
    """Passes everything on to `inner`. Subclasses override what they change; observations are what `render` returns."""

    def __init__(self, inner: Environment) -> None:
        super().__init__(inner.config)
        self.inner = inner
        vars(self).update({name: getattr(inner, name) for name in INHERITED})
        self._follow_spaces()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        _, info = self.inner.reset(seed=seed, options=options)
        self._follow_spaces()
        return self.render(), info

    def step(self, action: Action) -> Step:
        _, reward, terminated, truncated, info = self.inner.step(action)
        self._follow_spaces()
        return self.render(), float(reward), terminated, truncated, info

    def action_names(self) -> list[str] | None:
        return self.inner.action_names()

    def suggestions(self) -> list[str]:
        return self.inner.suggestions()

    def describe(self) -> str:
        return self.inner.describe()

    def render(self) -> str:
        return self.inner.render()

    def drawing(self) -> Drawing:
        return self.inner.drawing()

    def solution(self) -> Solution:
        return self.inner.solution()

    def problem(self) -> str:
        return self.inner.problem()

    def resolve(self, text: str) -> Action | None:
        return self.inner.resolve(text)

    def name_of(self, action: Action) -> str:
        return self.inner.name_of(action)

    def random_action(self, rng: np.random.Generator) -> str:
        return self.inner.random_action(rng)

    def scripted_action(self, rng: np.random.Generator) -> str:
        return self.inner.scripted_action(rng)

    def close(self) -> None:
        self.inner.close()

    def _follow_spaces(self) -> None:
        """The spaces of an environment whose actions change with its state change too."""
        self.action_space = self.inner.action_space
        self.observation_space = self.inner.observation_space
