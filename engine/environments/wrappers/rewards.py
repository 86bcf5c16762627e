"""Wrappers of rewards."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engine.environments.base import UNKNOWN, Action, Environment, Info
from engine.environments.wrappers.base import Step, Wrapper
from engine.section import Section


class StepPenalty(Section):
    """A constant cost of every action, so that shorter solutions return more."""

    type: Literal["step_penalty"] = "step_penalty"
    penalty: float = Field(-0.01, ge=-100, le=0, description="Added to the reward of every action.")

    def wrap(self, environment: Environment) -> Environment:
        return WithStepPenalty(environment, self)


class RewardShaping(Section):
    """Rewards scaled, clipped, and shaped by progress.

    Progress is a potential: the number of actions that a shortest solution still takes, with a minus sign. Adding its
    difference to the reward leaves the optimal policies what they are (Ng, Harada and Russell, ICML 1999).
    """

    type: Literal["reward_shaping"] = "reward_shaping"
    scale: float = Field(1.0, ge=-1000, le=1000, description="Factor of the environment's reward.")
    low: float = Field(-1e6, ge=-1e6, le=1e6, description="Least reward of an action, after scaling.")
    high: float = Field(1e6, ge=-1e6, le=1e6, description="Largest reward of an action, after scaling.")
    progress: float = Field(
        0.0,
        ge=0,
        le=100,
        description="Added for each action fewer that a shortest solution takes, and subtracted for each one more. 0 "
        "turns it off. Only environments that know solutions have it.",
    )
    lost: int = Field(
        20,
        ge=1,
        le=10_000,
        description="progress: distance from success, in actions, of a state without a solution.",
    )

    def wrap(self, environment: Environment) -> Environment:
        return WithRewardShaping(environment, self)


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
