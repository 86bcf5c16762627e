"""Sudoku problems: a full grid of which cells are removed as long as its solution stays the only one.

A removed cell whose number follows from the rest, being the only candidate of the cell or the only cell of its row,
column or box for the number, leaves the solution unique without a search: any solution of the new grid has that number
there, so it solves the grid before. This decides nearly all cells, so that even 16x16 takes milliseconds. Further cells
are decided by searching for a solution with another number there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from engine.environments.bounded_cache import cached_in_bytes
from engine.environments.sudoku.solver import Search, candidates, units_of_cell
from engine.errors import ConfigError

GRIDS = 30
NODES_PER_GRID = 20_000
MOST_EMPTY = {4: 12, 9: 54, 16: 140}  # more take long to find: 10 to 50 ms here, a second for 150 cells of 16x16
SHARE_EMPTY = {"easy": 0.4, "medium": 0.5, "hard": 0.6}  # RAGEN's


@dataclass(frozen=True, slots=True)
class Problem:
    """Flat grids: what is given, 0 for empty, and the only solution."""

    givens: bytes
    solution: bytes


@cached_in_bytes(8_000_000)
def make_problem(seed: int, size: int, empty: int) -> Problem:
    """The problem of `seed` with `empty` cells to fill."""
    rng = np.random.default_rng([seed, size, empty])
    for _ in range(GRIDS):
        solution = _full_grid(rng, size)
        givens = _remove(rng, solution, size, empty)
        if givens.count(0) == empty:
            return Problem(bytes(givens), bytes(solution))
    raise ConfigError(
        f"No Sudoku of {size} x {size} with {empty} empty cells was found.", remedy="Use fewer empty cells."
    )


def _full_grid(rng: np.random.Generator, size: int) -> list[int]:
    """A solved grid: a random fill, or for 16x16, where that can take long, a shuffled pattern."""
    if size > 9:
        return _shuffled_pattern(rng, size)
    search = Search(size, most=1, nodes=100_000, rng=rng)
    search.run([0] * size * size)
    return search.first or _shuffled_pattern(rng, size)


def _shuffled_pattern(rng: np.random.Generator, size: int) -> list[int]:
    """A cyclic solution with its numbers, its rows and columns within boxes, and its boxes shuffled."""
    side = isqrt(size)
    numbers = rng.permutation(size) + 1
    rows, columns = (_shuffled_lines(rng, side) for _ in range(2))
    grid = [[int(numbers[(side * (row % side) + row // side + column) % size]) for column in columns] for row in rows]
    if rng.random() < 0.5:
        grid = [list(column) for column in zip(*grid, strict=True)]
    return [number for row in grid for number in row]


def _shuffled_lines(rng: np.random.Generator, side: int) -> list[int]:
    return [int(band * side + line) for band in rng.permutation(side) for line in rng.permutation(side)]


def _remove(rng: np.random.Generator, solution: list[int], size: int, empty: int) -> list[int]:
    """The grid without `empty` of its cells, or without as many as were found."""
    grid = list(solution)
    undecided: list[int] = []
    left = empty
    for cell in rng.permutation(size * size).tolist():
        if left == 0:
            return grid
        if _follows(grid, size, cell):
            grid[cell] = 0
            left -= 1
        else:
            undecided.append(cell)
    nodes = NODES_PER_GRID
    for cell in undecided:
        if left == 0 or nodes <= 0:
            break
        number, grid[cell] = grid[cell], 0
        unique, used = _stays_unique(grid, size, cell, number, nodes)
        nodes -= used
        if unique:
            left -= 1
        else:
            grid[cell] = number
    return grid


def _follows(grid: list[int], size: int, cell: int) -> bool:
    """Whether the number of `cell` is its only candidate, or it the only cell of a unit for it, given the others."""
    number, grid[cell] = grid[cell], 0
    try:
        if candidates(grid, size, cell) == 1 << number:
            return True
        return any(
            not any(grid[other] == 0 and candidates(grid, size, other) >> number & 1 for other in unit)
            for unit in units_of_cell(size)[cell]
        )
    finally:
        grid[cell] = number


def _stays_unique(grid: list[int], size: int, cell: int, number: int, nodes: int) -> tuple[bool, int]:
    """Whether no solution has another number than `number` in the empty `cell`, and how many nodes it took."""
    others = candidates(grid, size, cell) & ~(1 << number)
    used = 0
    for other in (n for n in range(1, size + 1) if others >> n & 1):
        search = Search(size, most=1, nodes=nodes - used)
        tried = list(grid)
        tried[cell] = other
        count = search.run(tried)
        used = nodes - search.nodes
        if count != 0:
            return False, used
    return True, used
