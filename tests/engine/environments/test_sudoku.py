"""Sudoku: unique solutions, RAGEN's ways to write a placement, rewards that cannot be farmed."""

from __future__ import annotations

import time
from itertools import permutations, product

import numpy as np
import pytest
from pydantic import ValidationError

from engine.config import EnvironmentConfig
from engine.environments import environment_class, make_environment
from engine.environments.base import UNKNOWN, Environment
from engine.environments.feasibility import action_budget, feasibility
from engine.environments.sudoku.actions import Placement, placement_of
from engine.environments.sudoku.board import SudokuBoard
from engine.environments.sudoku.environment import Sudoku, SudokuParameters
from engine.environments.sudoku.generator import MOST_EMPTY, Problem, make_problem
from engine.environments.sudoku.solver import Search, count_solutions

FULL = (1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1)


def units(size: int) -> list[list[int]]:
    side = {4: 2, 9: 3, 16: 4}[size]
    rows = [[size * r + c for c in range(size)] for r in range(size)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    boxes = [
        [rows[side * i + r][side * j + c] for r in range(side) for c in range(side)]
        for i in range(side)
        for j in range(side)
    ]
    return [*rows, *columns, *boxes]


def played(givens: tuple[int, ...], **parameters: object) -> Sudoku:
    """A 4x4 grid with the solution 1234 / 3412 / 2143 / 4321."""
    environment = make_environment("sudoku", **{"empty_cells": min(12, givens.count(0)), **parameters})
    assert isinstance(environment, Sudoku)
    environment.reset(seed=0)
    environment.board = SudokuBoard(Problem(bytes(givens), bytes(FULL)), 4)
    return environment


def without(*cells: tuple[int, int]) -> tuple[int, ...]:
    """The full grid without cells that are counted from 1."""
    removed = {4 * (row - 1) + column - 1 for row, column in cells}
    return tuple(0 if cell in removed else number for cell, number in enumerate(FULL))


def test_a_4x4_grid_has_288_solutions() -> None:
    # a known number, counted here in a second way, by pairs of rows
    def is_grid(rows: tuple[tuple[int, ...], ...]) -> bool:
        flat = [number for row in rows for number in row]
        return all(len({flat[cell] for cell in unit}) == 4 for unit in units(4))

    first_half = [
        (a, b) for a, b in product(permutations(range(1, 5)), repeat=2) if not {*a[:2]} & {*b[:2]}
    ]  # two rows whose boxes are right
    counted = sum(is_grid((*upper, *lower)) for upper in first_half for lower in first_half)
    assert counted == count_solutions([0] * 16, 4, most=1000) == 288


@pytest.mark.parametrize(
    ("givens", "solutions"),
    [
        (FULL, 1),
        (without((1, 1), (1, 2), (3, 1), (3, 2)), 2),  # 1 2 over 2 1, or 2 1 over 1 2
        ((1, 1, *[0] * 14), 0),
        # cell (1, 4) needs 4, which its column has
        ((1, 2, 3, 0, 0, 0, 0, 4, *[0] * 8), 0),
    ],
)
def test_solutions_are_counted(givens: tuple[int, ...], solutions: int) -> None:
    assert count_solutions(givens, 4) == solutions


def test_a_search_that_runs_out_of_nodes_does_not_know() -> None:
    assert count_solutions([0] * 81, 9, nodes=50) is UNKNOWN


def test_a_hard_published_grid_is_solved() -> None:
    # "AI Escargot", which needs guesses
    givens = [int(c) for c in "100007090030020008009600500005300900010080002600004000300000010040000007007000300"]
    search = Search(9, most=2, nodes=20_000)
    assert search.run(givens) == 1
    assert search.first is not None
    assert all(sorted(search.first[cell] for cell in unit) == list(range(1, 10)) for unit in units(9))


@pytest.mark.parametrize(
    ("size", "empty", "seeds"),
    [(4, 6, 40), (4, 9, 40), (4, MOST_EMPTY[4], 10), (9, 32, 8), (9, 48, 8), (9, MOST_EMPTY[9], 3), (16, 102, 3)],
)
def test_problems_have_their_empty_cells_and_one_solution(size: int, empty: int, seeds: int) -> None:
    for seed in range(seeds):
        problem = make_problem(seed, size, empty)
        assert problem.givens.count(0) == empty
        assert all(given in (0, number) for given, number in zip(problem.givens, problem.solution, strict=True))
        assert all(sorted(problem.solution[cell] for cell in unit) == list(range(1, size + 1)) for unit in units(size))
        assert count_solutions(problem.givens, size, nodes=200_000) == 1


def test_problems_of_16x16_are_made_in_milliseconds() -> None:
    make_problem(100, 16, 102)
    started = time.process_time()
    for seed in range(101, 106):
        make_problem(seed, 16, 102)
    assert (time.process_time() - started) / 5 < 0.2  # measured: 0.005


@pytest.mark.parametrize(
    "text",
    [
        "place 3 at row 1 col 2",
        "Place 3 at Row 1 Column 2",
        "place 3 at (1,2)",
        "place 3 at 1,2",
        "3 at 1, 2",
        "3 at (1, 2)",
        "(1,2,3)",
        " ( 1 , 2 , 3 ) ",
        "1,2,3",
        "1, 2, 3",
    ],
)
def test_a_placement_is_written_in_ragens_ways(text: str) -> None:
    assert placement_of(text, 4) == Placement(row=0, column=1, number=3)


@pytest.mark.parametrize(
    "text", ["", "1,2", "1,2,5", "0,2,3", "5,2,3", "1,2,3,4", "1 2 3", "I place 3 at 1,2", "1,2,-3", "١,2,3", "9" * 200]
)
def test_anything_else_is_no_placement(text: str) -> None:
    assert placement_of(text, 4) is None
    environment = played(without((1, 2)))
    before = environment.render()
    observation, reward, terminated, _, info = environment.step(text)
    assert (reward, terminated) == (-0.1, False)
    assert info == {"action_is_valid": False, "action_is_effective": False, "success": False, "filled_share": 0}
    assert observation == f"{before}\nThat is no action. Write (row,column,number)."


def test_the_right_number_earns_1_and_the_last_one_10_more() -> None:
    environment = played(without((1, 2), (4, 4)))
    _, reward, terminated, truncated, info = environment.step("1,2,2")
    assert (reward, terminated, truncated, info["filled_share"]) == (1.0, False, False, 0.5)
    observation, reward, terminated, _, info = environment.step("4,4,1")
    assert (reward, terminated, info["success"]) == (11.0, True, True)
    assert observation == "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n(4,4) is 1."


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("1,1,2", "(1,1) is given."),
        ("1,2,3", "(1,2) cannot be 3: row 1 has it."),
        ("1,2,4", "(1,2) cannot be 4: row 1 has it."),
        ("2,2,3", "(2,2) cannot be 3: row 2 has it."),
        ("2,2,1", "(2,2) cannot be 1: row 2 has it."),
    ],
)
def test_what_breaks_a_rule_changes_nothing_and_says_which(action: str, outcome: str) -> None:
    environment = played(without((1, 2), (2, 2), (4, 2)))
    before = list(environment.board.cells)  # type: ignore[union-attr]
    observation, reward, _, _, info = environment.step(action)
    assert (reward, info["action_is_valid"], info["action_is_effective"]) == (-0.1, True, False)
    assert observation.splitlines()[-1] == outcome
    assert environment.board.cells == before  # type: ignore[union-attr]


def test_a_column_or_a_box_can_have_the_number_too() -> None:
    environment = played(without((1, 1), (1, 2), (2, 1), (3, 1)))
    assert environment.step("1,1,4")[0].endswith("(1,1) cannot be 4: row 1 has it.")
    assert environment.step("3,1,4")[0].endswith("(3,1) cannot be 4: row 3 has it.")
    open_row = played((0, 0, 0, 0, *FULL[4:]))
    assert open_row.step("1,1,2")[0].endswith("(1,1) cannot be 2: column 1 has it.")
    open_column = played((0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    assert open_column.step("1,1,4")[0].endswith("(1,1) cannot be 4: its box has it.")


@pytest.mark.parametrize("wrong_reward", [0.0, 0.5, -1.0])
def test_a_wrong_number_that_breaks_no_rule_is_placed_and_can_be_corrected(wrong_reward: float) -> None:
    # of the two cells that may be 1 2 or 2 1 in the first row, the third row decides
    environment = played((0, 0, 3, 4, 3, 4, 1, 2, 0, 0, 4, 3, 4, 3, 2, 1), wrong_reward=wrong_reward)
    assert environment.step("1,1,2")[1] == pytest.approx(wrong_reward)
    assert environment.drawing()["marks"][0] == [0, 0, "bad"]
    assert environment.step("1,1,2")[1] == 0
    assert environment.step("1,1,1")[1] == pytest.approx(1 - wrong_reward)
    assert environment.drawing()["marks"][0] == [0, 0, "new"]
    assert environment.step("1,1,0")[1] == pytest.approx(-1)
    assert environment.step("1,1,1")[1] == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_was_played_the_solution_solves_the_rest_and_the_return_counts_cells(seed: int) -> None:
    environment = make_environment("sudoku", difficulty="hard", wrong_reward=0.5, mistake_reward=0)
    environment.reset(seed=seed)
    chance = np.random.default_rng(seed)
    total = 0.0
    for _ in range(25):
        _, reward, over, _, _ = environment.step(environment.random_action(chance))
        total += float(reward)
        if over:
            break
    solution = environment.solution()
    assert isinstance(solution, list)
    total += sum(float(environment.step(action)[1]) for action in solution)
    assert total == pytest.approx(9 + 10)  # 9 empty cells of value 1, and the bonus
    assert environment.over  # type: ignore[attr-defined]


def test_wrong_numbers_that_exclude_each_others_corrections_are_emptied_first() -> None:
    # the first two cells are 2 1 instead of 1 2: neither can be corrected while the other stands
    environment = played((0, 0, 3, 4, 3, 4, 1, 2, 0, 0, 4, 3, 4, 3, 2, 1))
    environment.step("1,1,2")
    environment.step("1,2,1")
    solution = environment.solution()
    assert solution == ["(1,1,0)", "(1,2,2)", "(1,1,1)", "(3,1,2)", "(3,2,1)"]
    for action in solution:
        info = environment.step(action)[4]
    assert info["success"]


def test_grids_are_plain_or_with_boxes_and_feedback_is_as_asked() -> None:
    givens = without((1, 2), (4, 4))
    plain = played(givens, feedback="none")
    assert plain.step("1,2,2")[0] == "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 ."
    full = played(givens, format="boxes", feedback="full")
    assert full.step("1,2,2")[0] == "\n".join(
        [
            "[1] 2 |[3][4]",
            "[3][4]|[1][2]",
            "------+------",
            "[2][1]|[4][3]",
            "[4][3]|[2] . ",
            "(1,2) is 2.",
            "Filled: 1 of 2",
            "Candidates: (4,4) 1",
        ]
    )


def test_an_unsolved_episode_is_truncated_at_its_step_limit() -> None:
    environment = played(without((1, 2)), max_steps=2)
    assert environment.step("x")[2:4] == (False, False)
    assert environment.step("x")[2:4] == (False, True)


@pytest.mark.parametrize("name", list(environment_class("sudoku").examples))
def test_every_example_has_a_budget_for_all_its_cells(name: str) -> None:
    config = EnvironmentConfig.model_validate({"kind": "sudoku", **environment_class("sudoku").examples[name]})
    found = feasibility("sudoku", config.parameters, action_budget(config), range(4))
    assert (found.problems, found.solvable_share) == (4, 1.0)


def test_more_empty_cells_than_leave_one_solution_are_refused() -> None:
    with pytest.raises(ValidationError, match="use 12 at most"):
        SudokuParameters(empty_cells=13)
    assert SudokuParameters(size=16, difficulty="hard").to_fill == 140


def test_random_actions_are_placements() -> None:
    environment: Environment = make_environment("sudoku", size=9)
    environment.reset(seed=1)
    chance = np.random.default_rng(1)
    for _ in range(30):
        assert environment.step(environment.random_action(chance))[4]["action_is_valid"]
