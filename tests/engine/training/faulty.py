"""Environments that fail in runs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from engine.environments.base import Info
from engine.environments.frozen_lake import FrozenLake
from engine.errors import EnvironmentUnavailable


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


class HangingLake(FrozenLake):
    """Hangs in the way that an environment variable says, and leaves a file when it does."""

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        self._hang("step")
        return super().step(action)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[str, Info]:
        self._hang("reset")
        return super().reset(seed=seed, options=options)

    def close(self) -> None:
        self._hang("close")

    def _hang(self, where: str) -> None:
        phase, how, marker = os.environ["TESTS_HANG"].split(" ")
        if where not in phase.split("+"):
            return
        Path(marker).touch()
        while True:
            if how == "sleep":
                time.sleep(3600)


class UnreachableLake(FrozenLake):
    """Has a server for training only."""

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[str, Info]:
        self.reachable = (options or {}).get("split") != "held_out"
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        if self.reachable:
            return super().step(action)
        raise EnvironmentUnavailable("The ice server does not respond.", remedy="Start it.")
