"""Sudoku: fill the grid so that every row, column and box has each number once."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Reduction, Solution, step_info
from engine.environments.spaces import AnyText
from engine.environments.sudoku.actions import Placement, placement_of
from engine.environments.sudoku.board import SudokuBoard
from engine.environments.sudoku.generator import MOST_EMPTY, SHARE_EMPTY, make_problem
from engine.environments.sudoku.text import SudokuFormat, grid_text, progress_text


class SudokuParameters(EnvironmentParameters):
    size: Literal[4, 9, 16] = Field(4, description="Rows and columns of the grid.")
    difficulty: Literal["easy", "medium", "hard"] = Field(
        "easy", description="easy, medium and hard leave 40, 50 and 60% of cells empty; 140 at most for 16x16."
    )
    empty_cells: int = Field(
        0, ge=0, le=140, description="Cells to fill, instead of a difficulty. 0: set by the difficulty."
    )
    right_reward: float = Field(
        1.0, ge=-10, le=10, description="Value of a cell with the number that it has in the solution."
    )
    wrong_reward: float = Field(
        0.0,
        ge=-10,
        le=10,
        description="Value of a cell with a number that breaks no rule but differs from the solution. RAGEN gives 0.5.",
    )
    mistake_reward: float = Field(
        -0.1,
        ge=-10,
        le=0,
        description="Reward of an invalid action or one that breaks a rule; neither changes anything.",
    )
    solved_reward: float = Field(10.0, ge=0, le=100, description="Added when the grid is solved.")
    max_steps: int = Field(500, ge=1, le=10_000, description="Actions after which the episode ends unsolved.")
    format: SudokuFormat = Field(
        "plain", description="plain: rows of numbers. boxes: with lines, and given numbers in brackets, as RAGEN."
    )
    feedback: Literal["none", "last", "full"] = Field(
        "last",
        description="What follows the grid. last: the outcome of the last action. full: also the cells filled and, for "
        "ten empty cells or fewer, their candidates.",
    )

    @model_validator(mode="after")
    def _check(self) -> SudokuParameters:
        if self.empty_cells > MOST_EMPTY[self.size]:
            raise ValueError(
                f"empty_cells: {self.empty_cells} of {self.size} x {self.size} rarely leave one solution; use "
                f"{MOST_EMPTY[self.size]} at most."
            )
        return self

    @property
    def to_fill(self) -> int:
        by_difficulty = int(SHARE_EMPTY[self.difficulty] * self.size**2)
        return self.empty_cells or min(by_difficulty, MOST_EMPTY[self.size])


class Sudoku(Environment):
    """Fill a Sudoku that has one solution.

    Description: a grid of 4x4, 9x9 or 16x16 in square boxes, some numbers given. Each row, column and box is to have
        each number once.
    Actions: free text, several per answer between `||`: (row,column,number), row,column,number, `place N at row R col
        C`, `place N at (R,C)`, or without `place`; all count from 1. The number 0 empties a cell. A cell that is not
        given can be changed at any time.
    Observations: the rows, `.` for empty cells; then, by `feedback`, the outcome of the last action, progress and
        candidates.
    Starting state: a random solved grid, from which cells are removed in random order as long as the solution stays the
        only one, until `empty_cells` are empty.
    Rewards: the change of the cell's value: `right_reward` with the solution's number, `wrong_reward` with another that
        breaks no rule, 0 empty. So nothing is earned by changing a cell back and forth. `mistake_reward` for text that
        is no placement, a given cell, or a number that its row, column or box has; nothing changes then.
        `solved_reward` when solved.
    Episode end: terminated when solved, truncated after `max_steps`.
    Arguments: `SudokuParameters`.
    Differences from RAGEN: solutions are unique, so a number that breaks no rule can still be wrong; it is placed, as
        by a person who errs, can be corrected, and by default earns nothing. RAGEN pays 0.5 for it, and again each time
        a cell is filled. An action has to be a placement as a whole, not contain one. The budgets of the examples
        are enough for all cells.
    """

    kind: ClassVar[str] = "sudoku"
    title: ClassVar[str] = "Sudoku"
    summary: ClassVar[str] = "Fill a grid so that each row, column and box has every number once."
    Config = SudokuParameters
    default_instruction: ClassVar[str] = "Fill the empty cells so that each row, column and box has every number once."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 6,
        "max_actions_per_turn": 2,
        "max_actions": 12,
        "max_response_tokens": 60,
    }
    answer_form: ClassVar[str] = "(row,column,number)"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"filled_share": "last"}  # cells with the solution's number
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Sudoku 4x4": {},
        "Sudoku 4x4 three empty": {"parameters": {"empty_cells": 3, "feedback": "none"}, "max_turns": 4},
        "SimpleSudoku": {
            "parameters": {"size": 9, "wrong_reward": 0.5, "format": "boxes", "feedback": "full"},
            "max_turns": 12,
            "max_actions_per_turn": 4,
            "max_actions": 48,
            "max_response_tokens": 150,
        },
        "MediumSudoku": {
            "parameters": {
                "size": 9,
                "difficulty": "medium",
                "wrong_reward": 0.5,
                "format": "boxes",
                "feedback": "full",
            },
            "max_turns": 15,
            "max_actions_per_turn": 4,
            "max_actions": 60,
            "max_response_tokens": 150,
        },
        "Sudoku 16x16": {
            "parameters": {"size": 16},
            "max_turns": 30,
            "max_actions_per_turn": 5,
            "max_actions": 150,
            "max_response_tokens": 150,
        },
    }
    config: SudokuParameters

    def __init__(self, config: SudokuParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1, max_length=4000)
        self.board: SudokuBoard | None = None
        self.outcome = ""
        self.steps = 0
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the grid. Sudoku is deterministic."""
        seed = self.seeded(seed)
        self.board = SudokuBoard(make_problem(seed, self.config.size, self.config.to_fill), self.config.size)
        self.outcome, self.steps, self.over = "", 0, False
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over)
        placement = placement_of(text, self.config.size)
        self.steps += 1
        reward, effective = self._apply(placement)
        solved = self._board.solved
        reward += self.config.solved_reward * solved
        truncated = not solved and self.steps >= self.config.max_steps
        self.over = solved or truncated
        filled = self._board.right_cells() / self.config.to_fill
        info = step_info(valid=placement is not None, effective=effective, success=solved, filled_share=filled)
        return self.render(), float(reward), solved, truncated, info

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        side, size = isqrt(self.config.size), self.config.size
        given = "[n] is given, " if self.config.format == "boxes" else ""
        return (
            f"Numbers are 1 to {size}, boxes {side}x{side}; {given}. is an empty cell.\n"
            "An action is (row,column,number), counted from 1 at the top left. The number 0 empties a cell."
        )

    def render(self) -> str:
        lines = [grid_text(self._board, self.config.format)]
        if self.config.feedback != "none" and self.outcome:
            lines.append(self.outcome)
        if self.config.feedback == "full":
            lines.append(progress_text(self._board))
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        board, size = self._board, self.config.size
        marks = [
            [*divmod(cell, size), "given" if board.problem.givens[cell] else "bad" if board.is_wrong(cell) else "new"]
            for cell, number in enumerate(board.cells)
            if number
        ]
        rows = [[str(number or "") for number in row] for row in board.rows()]
        side = isqrt(size)
        return {"type": "table", "columns": [], "rows": rows, "marks": marks, "boxes": [side, side]}

    def problem(self) -> str:
        return " ".join(map(str, self._board.problem.givens))

    def solution(self) -> Solution:
        """A shortest one, except where wrong numbers exclude each other's corrections: then it may empty one cell more
        than necessary."""
        return list(map(str, self._board.rest()))

    def random_action(self, rng: np.random.Generator) -> str:
        """Any number in any empty cell."""
        empty = self._board.empty() or [0]
        cell = empty[int(rng.integers(len(empty)))]
        return str(self._board.placement_in(cell, int(rng.integers(1, self.config.size + 1))))

    @property
    def _board(self) -> SudokuBoard:
        if self.board is None:
            raise RuntimeError("There is no grid yet; call reset first.")
        return self.board

    def _apply(self, placement: Placement | None) -> tuple[float, bool]:
        """Plays an action and notes its outcome; returns its reward and whether the grid changed."""
        if placement is None:
            self.outcome = "That is no action. Write (row,column,number)."
            return self.config.mistake_reward, False
        board = self._board
        cell = f"({placement.row + 1},{placement.column + 1})"
        objection = board.objection(placement)
        if objection:
            self.outcome = f"{cell} {objection}."
            return self.config.mistake_reward, False
        before = list(board.cells)
        value = self._value(board.cell_of(placement))
        board.fill(placement)
        self.outcome = f"{cell} is {placement.number or 'empty'}."
        return self._value(board.cell_of(placement)) - value, board.cells != before

    def _value(self, cell: int) -> float:
        """What a cell is worth with what it holds."""
        if self._board.is_wrong(cell):
            return self.config.wrong_reward
        return self.config.right_reward if self._board.cells[cell] else 0.0
