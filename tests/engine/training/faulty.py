"""An environment whose every step raises."""

from __future__ import annotations

from engine.environments.base import Info
from engine.environments.frozen_lake import FrozenLake


class FaultyLake(FrozenLake):
    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        raise OSError("the ice broke")

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[str, Info]:
        if options is not None:
            raise OSError("the ice broke")
        return super().reset(seed=seed)
