"""Environments that misbehave in one way each, as a user's own may. Their kind is `<this module>:<class>`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, step_info
from engine.environments.spaces import AnyText
from engine.errors import EnvironmentUnavailable


class Config(EnvironmentParameters):
    pass


class Sound(Environment):
    """Ends with success at the action `yes`; what it takes is free text, all of it one action."""

    kind = "sound"
    title = "Sound"
    summary = "Says yes."
    Config = Config
    default_instruction = "Say yes."
    default_budget = {"max_turns": 3, "max_actions_per_turn": 1, "max_actions": 3, "max_response_tokens": 10}
    separator = None
    answer_form = "words"
    split_by = "none"
    examples: dict[str, dict[str, Any]] = {}

    def __init__(self, config: EnvironmentParameters) -> None:
        super().__init__(config)
        self.observation_space, self.action_space = AnyText(), AnyText()
        self.said = ""
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.said, self.over = "", False
        self.misbehave()
        return self.render(), {}

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        self.said = self.checked_text(action, over=self.over)
        self.over = self.said == "yes"
        return self.render(), float(self.over), self.over, False, step_info(effective=True, success=self.over)

    def misbehave(self) -> None:
        """Called by `reset`."""

    def action_names(self) -> None:
        return None

    def suggestions(self) -> list[str]:
        return ["yes", "no"]

    def random_action(self, rng: np.random.Generator) -> str:
        return "maybe"

    def describe(self) -> str:
        return "Any words."

    def render(self) -> str:
        return f"You said: {self.said}"

    def drawing(self) -> Drawing:
        return {"type": "text", "text": self.said}


class Hangs(Sound):
    def misbehave(self) -> None:
        while True:
            time.sleep(0.01)


class Raises(Sound):
    def misbehave(self) -> None:
        raise LookupError("no such level")


class Unreachable(Sound):
    def misbehave(self) -> None:
        raise EnvironmentUnavailable("The server of sounds cannot be reached.", remedy="Start it.")


class Prints(Sound):
    def misbehave(self) -> None:
        sys.stdout.write("a line for stdout\n")
        os.write(1, b"and one for its descriptor\n")


class Exits(Sound):
    def misbehave(self) -> None:
        sys.exit(3)


class Dies(Sound):
    def misbehave(self) -> None:
        os._exit(5)


class EatsMemory(Sound):
    def misbehave(self) -> None:
        eaten = []
        while True:
            eaten.append(bytearray(64 << 20))


class Floods(Sound):
    def drawing(self) -> Drawing:
        return {"type": "text", "text": "x" * (20 << 20)}


class Unplugged(Sound):
    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        raise EnvironmentUnavailable("The server of sounds cannot be reached.", remedy="Start it.")


class Forgets(Sound):
    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        raise KeyError(action)
