"""Text games that are played by commands: the environment, and what a game has to offer it.

A game says which commands are admissible. What the model writes is compared with them after both are normalised, so
that case, spaces, articles and the older wording `put … in/on …` make no difference.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from pydantic import Field

from engine.environments.base import (
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Solution,
    Split,
    split_of,
    step_info,
)
from engine.environments.spaces import AnyText

NOTHING = "Nothing happens."
INSPECTING = ("look", "inventory", "examine", "help")  # commands that change nothing
LONGEST_COMMAND = 300  # in characters; longer text is no command, and is not read


class CommandGame(Protocol):
    """One game in play. `commands`, `plan` and `drawing` describe the current state and change nothing."""

    @property
    def goal(self) -> str:
        """What has to be done, such as `put a mug in desk`; empty if the game does not say."""

    @property
    def feedback(self) -> str:
        """What the last command did; at the start, where the player is and what to do."""

    def commands(self) -> list[str]:
        """The admissible commands, sorted; none of them twice."""

    def play(self, command: str) -> float:
        """Does an admissible command; returns by how much the score rose, 1 in all."""

    def won(self) -> bool: ...

    def lost(self) -> bool: ...

    def plan(self) -> Solution:
        """The commands from here to the goal."""

    def problem(self) -> str:
        """The canonical text of the game's start."""

    def drawing(self) -> Drawing: ...

    def close(self) -> None: ...


class CommandParameters(EnvironmentParameters):
    max_steps: int = Field(50, ge=1, le=1000, description="Commands after which the game ends unfinished.")
    list_commands: bool = Field(True, description="Observations end with all admissible commands, as RAGEN's do.")
    repeat_task: bool = Field(
        False, description="Every observation states the task. For contexts that do not keep the first one."
    )


class CommandEnvironment(Environment):
    """An environment around a `CommandGame`. A command that is not admissible changes nothing."""

    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "command"
    reward_of_score: ClassVar[float] = 1.0  # for the whole score
    config: CommandParameters

    def __init__(self, config: CommandParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.game: CommandGame | None = None
        self.commands: list[str] = []  # the admissible ones
        self.feedback = ""
        self.steps = 0
        self.over = True

    @abstractmethod
    def start_game(self, seed: int, split: Split) -> CommandGame:
        """The game of a seed, before its first command."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        self.close()
        self.game = self.start_game(seed, split_of(options))
        self.feedback, self.commands = self.game.feedback, self.game.commands()
        self.steps, self.over = 0, False
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over)
        game = self._playing
        command = admissible(text, self.commands)
        reward = 0.0
        if command is None:
            self.feedback = NOTHING
        else:
            reward = self.reward_of_score * game.play(command)
            self.feedback, self.commands = game.feedback, game.commands()
        self.steps += 1
        terminated = game.won() or game.lost()
        truncated = not terminated and self.steps >= self.config.max_steps
        self.over = terminated or truncated
        effective = command is not None and not command.startswith(INSPECTING)
        info = step_info(valid=command is not None, effective=effective, success=game.won())
        return self.render(), reward, terminated, truncated, info

    def close(self) -> None:
        if self.game is not None:
            self.game.close()
            self.game = None

    def action_names(self) -> None:
        return None

    def suggestions(self) -> list[str]:
        return self.commands

    def render(self) -> str:
        game = self._playing
        parts = [self.feedback.strip() or NOTHING]
        if self.config.repeat_task and game.goal and self.steps:  # the first observation has it already
            parts.append(f"Your task is to: {game.goal}.")
        if self.config.list_commands:
            parts.append(f"Admissible commands: {', '.join(self.commands)}.")
        return "\n".join(parts)

    def drawing(self) -> Drawing:
        return self._playing.drawing()

    def problem(self) -> str:
        return self._playing.problem()

    def solution(self) -> Solution:
        if self.over:
            return [] if self._playing.won() else None
        return self._playing.plan()

    def random_action(self, rng: np.random.Generator) -> str:
        return self.commands[int(rng.integers(len(self.commands)))]

    @property
    def _playing(self) -> CommandGame:
        if self.game is None:
            raise RuntimeError("No game is in progress; call reset first.")
        return self.game


def admissible(text: str, commands: list[str]) -> str | None:
    """The admissible command that `text` means; None if it means none of them."""
    if text in commands:
        return text
    if len(text) > LONGEST_COMMAND:
        return None
    wanted = normalized(text)
    return next((command for command in commands if normalized(command) == wanted), None)


def normalized(command: str) -> str:
    """Lower case, single spaces, no articles and no full stop; `put o in/on r` becomes `move o to r`."""
    words = [word for word in command.lower().strip(" \t\n.").split() if word not in ("a", "an", "the")]
    text = " ".join(words)
    return re.sub(r"^put (.+) (?:in/on|in|on|into|onto) (.+)$", r"move \1 to \2", text)
