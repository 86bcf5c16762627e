"""Environment actors with another FrozenLake, and those lakes. No torch here: the actors import this."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from engine.cluster.environment_actors import EnvironmentActor
from engine.environments.frozen_lake import FrozenLake
from engine.environments.registry import ENVIRONMENTS
from engine.rollout.env_state_manager import chance_seed

MOST_SECONDS = 30
WHERE, HOW_MANY = "TESTS_MEETING_FOLDER", "TESTS_MEETING_SIZE"


class LakeActor(EnvironmentActor):
    def __init__(self, *, lake: str, meeting: tuple[str, int] = ("", 0), **options: Any) -> None:
        ENVIRONMENTS["frozen_lake"] = lake
        os.environ[WHERE], os.environ[HOW_MANY] = meeting[0], str(meeting[1])
        super().__init__(**options)

    def loaded(self, names: list[str]) -> list[str]:
        return [name for name in names if name in sys.modules]


class MeetingLake(FrozenLake):
    """A step ends when enough steps, in any process, are running at once.

    Records how many it saw; a late one may see fewer, since others have finished.
    """

    def step(self, action: int) -> Any:
        folder, needed = Path(os.environ[WHERE]), int(os.environ[HOW_MANY])
        inside = folder / f"inside-{id(self)}-{os.getpid()}"
        inside.touch()
        deadline = time.monotonic() + MOST_SECONDS
        while not (folder / "met").exists():
            assert time.monotonic() < deadline, "too few steps ran at once"
            seen = len(list(folder.glob("inside-*")))
            if seen >= needed:
                time.sleep(0.2)  # others might come in, if there are more
                (folder / f"seen-{len(list(folder.glob('inside-*')))}").touch()
                (folder / "met").touch()
            time.sleep(0.01)
        inside.unlink()
        return super().step(action)


class DyingLake(FrozenLake):
    """The first member of the first group kills its process."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.deadly = (options or {}).get("chance_seed") == chance_seed(seed or 0, 0)
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> Any:
        if self.deadly:
            os._exit(1)
        return super().step(action)


class BlockingLake(FrozenLake):
    """A step that never ends."""

    def step(self, action: int) -> Any:
        while True:
            time.sleep(0.1)
