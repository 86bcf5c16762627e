"""Wrappers of rewards."""

from __future__ import annotations

from typing import Any

from engine.environments.base import UNKNOWN, Action, Environment, Info
from engine.environments.wrappers.base import Step, Wrapper
from engine.environments.wrappers.settings import RewardShaping, StepPenalty


class WithStepPenalty(Wrapper):
    def __init__(self, inner: Environment, settings: StepPenalty) -> None:
        super().__init__(inner)
        self.settings = settings

    def step(self, action: Action) -> Step:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward + self.settings.penalty, terminated, truncated, info


class WithRewardShaping(Wrapper):
    def __init__(self, inner: Environment, settings: RewardShaping) -> None:
        super().__init__(inner)
        self.settings = settings
        self.distance: int | None = None  # actions to success; None where it is not known

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        started = super().reset(seed=seed, options=options)
        self.distance = self._distance()
        return started

    def step(self, action: Action) -> Step:
        before = self.distance
        observation, reward, terminated, truncated, info = super().step(action)
        reward = min(max(reward * self.settings.scale, self.settings.low), self.settings.high)
        self.distance = self._distance()
        if before is not None and self.distance is not None:
            reward += self.settings.progress * (before - self.distance)
        return observation, float(reward), terminated, truncated, info

    def _distance(self) -> int | None:
        if not self.settings.progress:
            return None
        solution = self.inner.solution()
        if solution is UNKNOWN:
            return None
        return self.settings.lost if solution is None else len(solution)
