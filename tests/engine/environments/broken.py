"""Environments that each break one rule of the contract, for the checker to find."""

from __future__ import annotations

import itertools
import random
from typing import Any, ClassVar

import numpy as np

from engine.environments.base import Drawing, Info
from engine.environments.frozen_lake import FrozenLake

COUNTER = itertools.count()
Step = tuple[str, float, bool, bool, Info]


class Raises(FrozenLake):
    def step(self, action: int) -> Step:
        self.checked(action, over=self.over)
        raise OSError("the ice broke")


class ForgetsItsSeed(FrozenLake):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        return super().reset(seed=next(COUNTER), options=options)


class LetsLuckChooseTheProblem(FrozenLake):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        return super().reset(seed=(options or {}).get("chance_seed", seed))


class RollsGlobalDice(FrozenLake):
    def step(self, action: int) -> Step:
        random.random()
        return super().step(action)


class RollsNumpysGlobalDice(FrozenLake):
    def render(self) -> str:
        np.random.rand()
        return super().render()


class PaysAtRandom(FrozenLake):
    def step(self, action: int) -> Step:
        observation, _, terminated, truncated, info = super().step(action)
        return observation, float(next(COUNTER)), terminated, truncated, info


class PaysNothingKnown(FrozenLake):
    def step(self, action: int) -> Step:
        observation, _, terminated, truncated, info = super().step(action)
        return observation, float("nan"), terminated, truncated, info


class EndsWithNumbers(FrozenLake):
    def step(self, action: int) -> Step:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, 0, info  # type: ignore[return-value]


class KeepsSuccessToItself(FrozenLake):
    def step(self, action: int) -> Step:
        *rest, info = super().step(action)
        return (*rest, {key: value for key, value in info.items() if key != "success"})  # type: ignore[return-value]


class SaysSomethingElse(FrozenLake):
    def step(self, action: int) -> Step:
        observation, *rest = super().step(action)
        return (observation + ".", *rest)  # type: ignore[return-value]


class SpeaksForeignCharacters(FrozenLake):
    def render(self) -> str:
        return super().render() + "☃"


class HasOneNameTooMany(FrozenLake):
    def action_names(self) -> list[str]:
        return [*super().action_names(), "Jump"]


class NamesDifferByCase(FrozenLake):
    def action_names(self) -> list[str]:
        return ["up", "Up", "Left", "Right"]


class NamesBreakTheAnswer(FrozenLake):
    def action_names(self) -> list[str]:
        return ["Left || Down", "Down", "Right", "Up"]


class AcceptsAnything(FrozenLake):
    def step(self, action: int) -> Step:
        return super().step(action if self.over or action in range(4) else 0)


class GoesOnAfterTheEnd(FrozenLake):
    def step(self, action: int) -> Step:
        self.over = not self.lake
        return super().step(action)


class StepsBeforeReset(FrozenLake):
    def step(self, action: int) -> Step:
        if not self.lake:
            self.reset(seed=0)
        return super().step(action)


class DrawsBytes(FrozenLake):
    def drawing(self) -> Drawing:
        return {**super().drawing(), "agent": b"here"}


class DrawsLava(FrozenLake):
    def drawing(self) -> Drawing:
        return {**super().drawing(), "cells": [["lava"] * 4] * 4}


class DrawsTheAgentOutside(FrozenLake):
    def drawing(self) -> Drawing:
        return {**super().drawing(), "agent": [9, 9]}


class DrawsACloud(FrozenLake):
    def drawing(self) -> Drawing:
        return {"type": "cloud"}


class DescribesNothing(FrozenLake):
    def describe(self) -> str:
        return ""


class CountsUnderATakenName(FrozenLake):
    info_metrics: ClassVar[Any] = {"turns": "last"}


class GivesUp(FrozenLake):
    def solution(self) -> list[int] | None:
        return None


class ThinksItIsDone(FrozenLake):
    def solution(self) -> list[int] | None:
        return []


class MovesWhileThinking(FrozenLake):
    def solution(self) -> list[int] | None:
        found = super().solution()
        if found and not self.over:
            self.step(found[0])
        return found
