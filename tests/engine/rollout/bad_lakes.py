"""Lakes that misbehave for every other member of a group (members 0, 2, …), each in one way. The others are sound."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from engine.environments.base import Info
from engine.environments.frozen_lake import FrozenLake
from engine.errors import EnvironmentUnavailable

Step = tuple[str, float, bool, bool, Info]
LONG = 3600.0


class BadLake(FrozenLake):
    """`closed` counts the calls of close, of bad and sound ones."""

    closed: ClassVar[list[bool]] = []
    made: ClassVar[list[bool]] = []

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.bad = False
        self.steps = 0
        self.made.append(True)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.bad = ((options or {}).get("chance_seed", 0) - (seed or 0) * 1009) % 2 == 1
        return self.bad_reset(*super().reset(seed=seed, options=options))

    def step(self, action: int) -> Step:
        self.steps += 1
        if not self.bad:
            return super().step(action)
        result: Step = self.bad_step(super().step(action))
        return result

    def close(self) -> None:
        self.closed.append(self.bad)
        if self.bad:
            self.bad_close()

    def bad_reset(self, observation: str, info: Info) -> tuple[str, Info]:
        return observation, info

    def bad_step(self, result: Step) -> Any:
        return result

    def bad_close(self) -> None:
        pass


class ResetRaises(BadLake):
    def bad_reset(self, observation: str, info: Info) -> tuple[str, Info]:
        if self.bad:
            raise OSError("the ice broke")
        return observation, info


class StepRaises(BadLake):
    def bad_step(self, result: Step) -> Any:
        raise OSError("the ice broke")


class StepExits(BadLake):
    def bad_step(self, result: Step) -> Any:
        raise SystemExit("the ice broke")


class StepIsInterrupted(BadLake):
    def bad_step(self, result: Step) -> Any:
        raise KeyboardInterrupt


class RaisesWithoutText(BadLake):
    def bad_step(self, result: Step) -> Any:
        class Silent(Exception):
            def __str__(self) -> str:
                raise OSError("no text")

        raise Silent


class RaisesHalfACharacter(BadLake):
    def bad_step(self, result: Step) -> Any:
        raise OSError("ice \ud83e" + "!" * 5000)


class StepLoops(BadLake):
    def bad_step(self, result: Step) -> Any:
        while True:
            try:
                while True:
                    self.steps += 1
            except Exception:  # a handler of its own, which must not keep it alive
                continue


class StepSleeps(BadLake):
    def bad_step(self, result: Step) -> Any:
        time.sleep(LONG)


class ResetSleeps(BadLake):
    def bad_reset(self, observation: str, info: Info) -> tuple[str, Info]:
        if self.bad:
            time.sleep(LONG)
        return observation, info


class CloseSleeps(BadLake):
    def bad_close(self) -> None:
        time.sleep(LONG)


class CloseRaises(BadLake):
    def bad_close(self) -> None:
        raise OSError("the door is stuck")


class PaysNaN(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (result[0], float("nan"), *result[2:])


class PaysInfinity(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (result[0], np.float32("inf"), *result[2:])


class PaysText(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (result[0], "1.0", *result[2:])


class ObservesBytes(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (b"ice", *result[1:])


class ObservesMoreAndMore(BadLake):
    def bad_step(self, result: Step) -> Any:
        return ("ice " * 100**self.steps, *result[1:])


class ObservesHalfACharacter(BadLake):
    def bad_step(self, result: Step) -> Any:
        return ("ice \ud83e", *result[1:])


class EndsWithText(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (*result[:2], "no", *result[3:])


class NeverSaysItIsOver(BadLake):
    """Raises at the second step, as a finished episode does, though it said that it goes on."""

    def bad_step(self, result: Step) -> Any:
        if self.steps > 1:
            raise RuntimeError("No episode is in progress; call reset before step.")
        return result


class SaysItIsOverAndGoesOn(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (*result[:2], True, *result[3:])


class ReturnsFour(BadLake):
    def bad_step(self, result: Step) -> Any:
        return result[:4]


class InformsByList(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (*result[:4], ["success"])


class InformsOfNothing(BadLake):
    def bad_step(self, result: Step) -> Any:
        return (*result[:4], {})


class DrawsNaN(BadLake):
    def drawing(self) -> dict[str, Any]:
        return {**super().drawing(), **({"agent": float("nan")} if self.bad and self.steps else {})}


class InformsStrangely(BadLake):
    """Sound, except that its infos hold what JSON does not."""

    def bad_step(self, result: Step) -> Any:
        strange: dict[Any, Any] = {
            "self": self,
            "nan": float("nan"),
            "half": "\ud83e",
            "big": 10**40,
            "long": "x" * 10_000,
        }
        strange[7] = "seven"
        return (
            *result[:4],
            {**result[4], **strange, "array": np.zeros(2), "number": np.int64(3), "flag": np.bool_(True)},
        )


class ConstructorRaises(FrozenLake):
    """Every other one."""

    count: ClassVar[list[int]] = []

    def __init__(self, config: Any) -> None:
        self.count.append(1)
        if len(self.count) % 2 == 1:
            raise OSError("no ice")
        super().__init__(config)


class ConstructorSleeps(FrozenLake):
    """Every other one."""

    count: ClassVar[list[int]] = []

    def __init__(self, config: Any) -> None:
        self.count.append(1)
        if len(self.count) % 2 == 1:
            time.sleep(LONG)
        super().__init__(config)


class HasNoServer(BadLake):
    def bad_step(self, result: Step) -> Any:
        raise EnvironmentUnavailable("The ice server at 127.0.0.1:9 does not respond.", remedy="Start it.")


class Counts(BadLake):
    """Reports numbers: 1, 2, 3, … at successive steps."""

    info_metrics: ClassVar[Any] = {
        "final": "last",
        "total": "sum",
        "average": "mean",
        "highest": "max",
        "lowest": "min",
    }

    def step(self, action: int) -> Step:
        *rest, info = super().step(action)
        names = [name for name in self.info_metrics if not (self.bad and name == "total")]
        return (*rest, {**info, **dict.fromkeys(names, float(self.steps))})  # type: ignore[return-value]
