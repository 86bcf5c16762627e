"""Thoughts of the scripted players of puzzles and arithmetic: true, in several wordings, some of them computations."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from engine.environments.arithmetic import evaluate
from engine.environments.base import Environment
from engine.environments.board_2048 import ACTIONS, move
from engine.environments.sudoku.actions import placement_of

TRIES = 0.3  # share of the thoughts about Countdown that discard an expression first
PLAIN_WORDINGS = ("I try {plan}", "{plan}", "so {plan}")
TILE_WORDINGS = ("{plan} merges {gain}", "I go {plan}")
CUBE_WORDINGS = ("{distance} away {plan}", "I turn {plan}")
CELL_WORDINGS = ("row {row} column {column} has {in_row} so {number}", "row {row} column {column} is {number}")
GUESS_WORDINGS = ("maybe {plan}", "I guess {plan}")
SUM_WORDINGS = ("{sum} = {value} so {plan}", "{sum} = {value}", "it is {plan}")
_SUM = re.compile(r"What is ([-+*/() \d]+)\?")


def countdown(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """At most one expression that misses, and the one to answer, each with its value."""
    target = environment.current.target
    tried = [environment.random_action(rng)] if rng.random() < TRIES else []
    missed = [one for one in tried if _value_of(one) != target]
    return " ".join(f"{one} = {_text(_value_of(one))} {_verdict(one, target)}" for one in [*missed, plan[0]])


def sudoku(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    return " ".join(_cell(environment, text, rng) for text in plan)


def game_2048(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    _, gain = move(environment.board, ACTIONS.index(plan[0]))
    return _say(TILE_WORDINGS, rng, plan=plan[0], gain=gain)


def rubiks_cube(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    return _say(CUBE_WORDINGS, rng, distance=environment.distance, plan=" ".join(plan))


def question(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """For the right answer to a question that spells out a sum, that sum."""
    asked = environment.question
    if plan[0] != asked.answer:
        return _say(GUESS_WORDINGS, rng, plan=plan[0])
    spelled = _SUM.search(asked.text)
    if spelled is None:
        return _say(PLAIN_WORDINGS, rng, plan=plan[0])
    return _say(SUM_WORDINGS, rng, sum=spelled[1], value=_text(_value_of(spelled[1])), plan=plan[0])


def plain(environment: Environment, plan: list[str], rng: np.random.Generator) -> str:
    return _say(PLAIN_WORDINGS, rng, plan=" ".join(plan))


def _cell(environment: Any, text: str, rng: np.random.Generator) -> str:
    board = environment.board
    found = placement_of(text, board.size)
    if found is None:
        return text
    rows = board.rows()
    return _say(
        CELL_WORDINGS,
        rng,
        row=found.row + 1,
        column=found.column + 1,
        in_row=" ".join(str(number) for number in rows[found.row] if number),
        number=found.number,
    )


def _value_of(expression: str) -> Fraction | None:
    found = evaluate(expression)
    return found.value if found else None


def _verdict(expression: str, target: int) -> str:
    return "yes" if _value_of(expression) == target else "no"


def _text(value: Fraction | None) -> str:
    """Whole numbers; other values as whole number and remainder are of no use to the player."""
    if value is None:
        return "none"
    return str(value) if value.denominator == 1 else "a fraction"


def _say(wordings: tuple[str, ...], rng: np.random.Generator, **words: Any) -> str:
    return wordings[int(rng.integers(len(wordings)))].format(**words)
