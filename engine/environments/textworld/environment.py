"""The environment `textworld`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from engine.environments.base import UNKNOWN, Drawing, Solution, Split
from engine.environments.command_game import CommandEnvironment, CommandGame, CommandParameters
from engine.environments.textworld.making import alone, game_file, textworld

MOST_ROOMS = 100  # of a game, since TextWorld 1.7
HELD_OUT_SEEDS = 1_000_000  # the first seed of games in evaluation


class TextWorldParameters(CommandParameters):
    game: Literal["simple", "coin_collector", "treasure_hunter", "cooking"] = Field(
        "coin_collector", description="TextWorld's challenge from which games are generated."
    )
    games: int = Field(
        100,
        ge=1,
        le=1000,
        description="Different games in training, and the same number in evaluation. Each takes seconds to generate.",
    )
    level: int = Field(
        5,
        ge=1,
        le=300,
        description="coin_collector: rooms to the coin, with 100 or 200 more for distracting rooms. treasure_hunter: "
        "1 to 30.",
    )
    rewards: Literal["dense", "balanced", "sparse"] = Field("dense", description="simple: how often points are scored.")
    goal: Literal["detailed", "brief", "none"] = Field(
        "detailed", description="simple: how much the task text reveals."
    )
    ingredients: int = Field(1, ge=1, le=5, description="cooking: ingredients of the recipe.")
    take: int = Field(0, ge=0, le=5, description="cooking: how many of them have to be found.")
    rooms: Literal[1, 6, 9, 12] = Field(1, description="cooking: rooms of the house.")
    closed: bool = Field(False, description="cooking: doors and containers have to be opened.")
    cook: bool = Field(False, description="cooking: ingredients have to be cooked.")
    cut: bool = Field(False, description="cooking: ingredients have to be cut.")
    drop: bool = Field(False, description="cooking: the player cannot carry everything.")

    @model_validator(mode="after")
    def _check_game(self) -> TextWorldParameters:
        rooms = ((self.level - 1) // 100 + 1) * ((self.level - 1) % 100 + 1)
        if self.game == "coin_collector" and rooms > MOST_ROOMS:
            raise ValueError(f"level: {self.level} has {rooms} rooms; choose 1 to 100, 101 to 150 or 201 to 233.")
        if self.game == "treasure_hunter" and self.level > 30:
            raise ValueError(f"level: treasure_hunter has levels 1 to 30, not {self.level}.")
        if self.take > self.ingredients:
            raise ValueError(f"take: the recipe has {self.ingredients} ingredients; {self.take} cannot be found.")
        return self

    def settings(self, split: Split) -> dict[str, Any]:
        """What TextWorld's challenge takes."""
        if self.game == "simple":
            return {"rewards": self.rewards, "goal": self.goal, "test": split == "held_out"}
        if self.game != "cooking":
            return {"level": self.level}
        skills = {"open": self.closed, "cook": self.cook, "cut": self.cut, "drop": self.drop}
        kitchen = {"recipe": self.ingredients, "take": self.take, "go": self.rooms}
        return {**kitchen, **skills, "split": "test" if split == "held_out" else "train"}


class TextWorld(CommandEnvironment):
    """Games that TextWorld makes from a seed.

    Description:
        Text adventures of Microsoft's TextWorld 1.7 (arXiv 1806.11532), made on this machine without a network: a
        house with one task (`simple`), rooms with a coin at the end (`coin_collector`), one treasure among several
        objects (`treasure_hunter`), or a recipe to cook and eat (`cooking`). Each is compiled to a file of the
        Z-machine, which takes seconds once; files are kept in the user's cache folder.

    Actions:
        Free text, one command such as `go east`, `open chest drawer` or `take key from trunk`. It is compared with the
        admissible commands after case, spaces, articles and a final full stop are normalised. Any other text is
        answered by "Nothing happens.", and `action_is_valid` is False.

    Observations:
        What the game says, without its banner, and with `list_commands` the admissible commands.

    Starting state:
        Game `seed` modulo `games`. Those of evaluation have other seeds; for `simple` and `cooking` they are also from
        TextWorld's test distribution.

    Rewards:
        What the score rose by, as a share of the highest score, so that a game won has a return of 1.

    Episode end:
        Terminated when the game is won or lost; truncated after `max_steps` commands.

    Arguments:
        See the parameters; each names the game that it is for.

    Differences from RAGEN:
        RAGEN has no such environment.
    """

    kind: ClassVar[str] = "textworld"
    title: ClassVar[str] = "TextWorld"
    summary: ClassVar[str] = "Text adventures that TextWorld makes from a seed: coins, treasures, recipes."
    Config = TextWorldParameters
    needs: ClassVar[str] = "the extra alfworld"
    default_instruction: ClassVar[str] = "You play a text adventure. Do the task that it states, one command at a time."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 50,
        "max_actions_per_turn": 1,
        "max_actions": 50,
        "max_response_tokens": 300,
    }
    split_by = "own"
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    config: TextWorldParameters

    def start_game(self, seed: int, split: Split) -> CommandGame:
        number = seed % self.config.games + (HELD_OUT_SEEDS if split == "held_out" else 0)
        settings = self.config.settings(split)
        if self.config.game == "cooking":  # other recipes only where ingredients have to be found
            settings["recipe_seed"] = number if self.config.take else 0
        return CompiledGame(str(game_file(self.config.game, settings, number)))

    def describe(self) -> str:
        return (
            "Commands: go east, look, inventory, examine X, open X, take X, take X from Y, put X on Y, insert X into Y."
        )


class CompiledGame:
    """A compiled game in play. The game's own record of the score and of the winning commands is read beside it."""

    def __init__(self, path: str) -> None:
        module = textworld()
        wanted = ("admissible_commands", "policy_commands", "won", "lost", "score", "max_score", "objective")
        infos = module.EnvInfos(**dict.fromkeys((*wanted, "description", "feedback", "facts"), True))
        with alone():
            self._engine = module.start(path, infos)
            self._state = self._engine.reset()
        self._score = 0
        self.goal = " ".join(str(self._state.objective).split()).rstrip(".")
        self._said = f"{self._state.description.strip()}\n\n{str(self._state.objective).strip()}"
        facts = sorted(str(fact) for fact in self._state.facts)
        self._problem = "\n".join([str(self._state.objective), *facts])

    @property
    def feedback(self) -> str:
        return re.sub(r"\n\s*\n+", "\n\n", self._said).strip()

    def commands(self) -> list[str]:
        return list(self._state.admissible_commands)

    def play(self, command: str) -> float:
        with alone():
            self._state, _, _ = self._engine.step(command)
        self._said = str(self._state.feedback).partition("*** The End ***")[0]
        before, self._score = self._score, int(self._state.score)
        return (self._score - before) / max(1, int(self._state.max_score))

    def won(self) -> bool:
        return bool(self._state.won)

    def lost(self) -> bool:
        return bool(self._state.lost)

    def plan(self) -> Solution:
        """The commands of the game's own winning policy."""
        if self.won():
            return []
        return list(self._state.policy_commands or []) or UNKNOWN

    def problem(self) -> str:
        return self._problem

    def drawing(self) -> Drawing:
        return {"type": "text", "text": self.feedback or "…"}

    def close(self) -> None:
        self._engine.close()
