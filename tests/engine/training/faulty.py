"""An environment whose every step raises."""

from __future__ import annotations

import sys

from engine.environments.base import Info
from engine.environments.frozen_lake import FrozenLake


class FaultyLake(FrozenLake):
    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        raise OSError("the ice broke")

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[str, Info]:
        if options is not None:
            raise OSError("the ice broke")
        return super().reset(seed=seed)


class UnluckyLake(FrozenLake):
    """Fails every other member of a group: a step by members 0, 2, ... (chance seeds 1, 3, ... above seed * 1009)."""

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[str, Info]:
        chance = (options or {}).get("chance_seed", 0)
        assert isinstance(chance, int)
        self.unlucky = (chance - (seed or 0) * 1009) % 2 == 1
        return super().reset(seed=seed, options=options)


class BreakingLake(UnluckyLake):
    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        if self.unlucky:
            raise OSError("the ice broke")
        return super().step(action)


class UnpayableLake(UnluckyLake):
    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, float("nan") if self.unlucky else reward, terminated, truncated, info


class SpeechlessLake(FrozenLake):
    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        _, *rest = super().step(action)
        return (None, *rest)  # type: ignore[return-value]


class NamelessLake(FrozenLake):
    def describe(self) -> str:
        raise LookupError("no words")


class LeavingLake(FrozenLake):
    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[str, Info]:
        if options is not None:
            sys.exit("the ice broke")
        return super().reset(seed=seed)
