"""Grids of Sudoku as text: plain rows, or RAGEN's, with boxes and given numbers in brackets."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import Literal

from engine.environments.sudoku.board import SudokuBoard

SudokuFormat = Literal["plain", "boxes"]
MOST_EMPTY_WITH_CANDIDATES = 10


def grid_text(board: SudokuBoard, form: SudokuFormat) -> str:
    if form == "boxes":
        return _with_boxes(board)
    texts = _texts(board.size)
    return "\n".join([" ".join([texts[number] for number in row]) for row in board.rows()])


def progress_text(board: SudokuBoard) -> str:
    """How many cells are filled, and the candidates of each empty one when there are ten or fewer."""
    empty = board.empty()
    to_fill = board.problem.givens.count(0)
    lines = [f"Filled: {to_fill - len(empty)} of {to_fill}"]
    if 0 < len(empty) <= MOST_EMPTY_WITH_CANDIDATES:
        choices = (f"{_name(board, cell)} {' '.join(map(str, board.candidates_of(cell))) or 'none'}" for cell in empty)
        lines.append(f"Candidates: {'; '.join(choices)}")
    return "\n".join(lines)


@lru_cache(maxsize=3)
def _texts(size: int) -> tuple[str, ...]:
    """Of an empty cell and of each number, equally wide."""
    width = len(str(size))
    return tuple(f"{number or '.':>{width}}" for number in range(size + 1))


def _name(board: SudokuBoard, cell: int) -> str:
    row, column = divmod(cell, board.size)
    return f"({row + 1},{column + 1})"


def _with_boxes(board: SudokuBoard) -> str:
    side, texts = isqrt(board.size), _texts(board.size)
    lines: list[str] = []
    for row in range(board.size):
        cells = [_cell_text(board, row * board.size + column, texts) for column in range(board.size)]
        groups = ["".join(cells[start : start + side]) for start in range(0, board.size, side)]
        lines.append("|".join(groups))
        if row % side == side - 1 and row < board.size - 1:
            lines.append("+".join("-" * len(group) for group in groups))
    return "\n".join(lines)


def _cell_text(board: SudokuBoard, cell: int, texts: tuple[str, ...]) -> str:
    text = texts[board.cells[cell]]
    return f"[{text}]" if board.problem.givens[cell] else f" {text} "
