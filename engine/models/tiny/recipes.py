"""The models that ship: what each imitated, its size, and what its card measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MixComponent:
    """An environment of the imitation data and its share."""

    share: float
    config: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a model is made. `name` is its path in a configuration."""

    name: str
    title: str
    imitated: str  # names of its environments, for the card
    mix: tuple[MixComponent, ...]
    measured: tuple[dict[str, Any], ...]  # environments of the card
    random_share: float = 0.4  # of the scripted players' moves
    episodes: int = 49152  # to imitate
    max_context_tokens: int = 1024
    rows_per_update: int = 64
    split_digits: bool = False  # each digit is a token, as arithmetic needs
    half_precision: bool = False  # weights are stored in bfloat16


def _lake(share: float, turn: int = 2, **parameters: Any) -> MixComponent:
    return MixComponent(
        share=share,
        config={
            "kind": "frozen_lake",
            "parameters": parameters,
            "max_actions_per_turn": turn,
            "max_response_tokens": 60,
        },
    )


def _sokoban(share: float, turn: int = 2, **parameters: Any) -> MixComponent:
    return MixComponent(
        share=share,
        config={"kind": "sokoban", "parameters": parameters, "max_actions_per_turn": turn, "max_response_tokens": 60},
    )


TINY = Recipe(
    name="tiny",
    title="Starboard tiny",
    imitated="Bandit, FrozenLake and Sokoban",
    mix=(
        _lake(0.44),
        _lake(0.08, turn=1),
        _lake(0.04, turn=3),
        _lake(0.04, success_rate=0.8),
        _lake(0.03, format="grid_and_coordinates"),
        _lake(0.03, format="coordinates"),
        _sokoban(0.20),
        _sokoban(0.04, turn=1),
        _sokoban(0.03, turn=4),
        _sokoban(0.02, format="grid_and_coordinates"),
        MixComponent(share=0.04, config={"kind": "bandit"}),
        MixComponent(share=0.01, config={"kind": "bandit", "parameters": {"reversed": True}}),
    ),
    measured=(
        {"kind": "frozen_lake", "tag": "FrozenLake"},
        {"kind": "frozen_lake", "tag": "FrozenLake, slippery (0.8)", "parameters": {"success_rate": 0.8}},
        {"kind": "sokoban", "tag": "Sokoban"},
        {"kind": "bandit", "tag": "Bandit"},
    ),
)


def _example(kind: str, name: str) -> dict[str, Any]:
    """The configuration of an environment's example."""
    from engine.environments.registry import environment_class

    return {"kind": kind, "tag": name, **environment_class(kind).examples[name]}


def _part(share: float, kind: str, name: str, **changed: Any) -> MixComponent:
    """An example; `changed` are parameters."""
    config = _example(kind, name)
    return MixComponent(share=share, config={**config, "parameters": {**config.get("parameters", {}), **changed}})


COUNTDOWN = ("countdown", "Countdown three numbers")
SUDOKU = ("sudoku", "Sudoku 4x4 three empty")
GAME_2048 = ("game_2048", "2048 2x2 to 16")
CUBE = ("rubiks_cube", "Rubik's cube two turns")
WORD_PROBLEMS = ("metamathqa", "MetamathQA one step")
WORD_PROBLEMS_ONCE = ("metamathqa", "MetamathQA one step, one try")
QUESTIONS = ("static", "StaticQA arithmetic one try")

PUZZLES = Recipe(
    name="tiny-puzzles",
    title="Starboard tiny puzzles",
    imitated="Countdown, Sudoku, 2048, Rubik's cube, word problems and arithmetic questions",
    mix=(
        _part(0.24, *COUNTDOWN),
        _part(0.08, "countdown", "Countdown two numbers", largest_number=60, largest_target=120),
        _part(0.04, "countdown", "Countdown two numbers", operations="+-*/", largest_number=20, largest_target=400),
        _part(0.12, *SUDOKU),
        _part(0.02, *SUDOKU, empty_cells=2),
        _part(0.05, *GAME_2048),
        _part(0.10, *CUBE),
        _part(0.03, *CUBE, depth=1),
        _part(0.06, *WORD_PROBLEMS),
        _part(0.10, *WORD_PROBLEMS_ONCE),
        _part(0.16, *QUESTIONS),
    ),
    measured=tuple(_example(*one) for one in (COUNTDOWN, SUDOKU, GAME_2048, CUBE, WORD_PROBLEMS_ONCE, QUESTIONS)),
    episodes=20480,
    rows_per_update=32,
    max_context_tokens=2048,
    split_digits=True,
    half_precision=True,
)

RECIPES = {recipe.name: recipe for recipe in (TINY, PUZZLES)}
