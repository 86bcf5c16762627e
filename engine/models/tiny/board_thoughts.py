"""Thoughts about Sudoku, 2048 and Rubik's cube: true sentences about the board and the move."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.environments.board_2048 import ACTIONS, move
from engine.environments.sudoku.actions import placement_of
from engine.models.tiny.wordings import say

TILE_WORDINGS = ("{plan} merges {gain}", "I go {plan}")
CUBE_WORDINGS = ("{distance} away {plan}", "I turn {plan}")
CELL_WORDINGS = ("row {row} column {column} has {in_row} so {number}",)


def sudoku(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    return " ".join(_cell(environment, text, rng) for text in plan)


def game_2048(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    _, gain = move(environment.board, ACTIONS.index(plan[0]))
    return say(TILE_WORDINGS, rng, plan=plan[0], gain=gain)


def rubiks_cube(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    return say(CUBE_WORDINGS, rng, distance=environment.distance, plan=" ".join(plan))


def _cell(environment: Any, text: str, rng: np.random.Generator) -> str:
    board = environment.board
    found = placement_of(text, board.size)
    if found is None:
        return text
    rows = board.rows()
    return say(
        CELL_WORDINGS,
        rng,
        row=found.row + 1,
        column=found.column + 1,
        in_row=" ".join(str(number) for number in rows[found.row] if number),
        number=found.number,
    )
