"""Solves Sudoku grids by depth-first search, the cell with the fewest candidates first, within a budget of nodes.

A grid is a flat list of `size * size` numbers, 0 for empty. Candidates are bits: bit n stands for the number n.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isqrt
from typing import Literal

import numpy as np

from engine.environments.base import UNKNOWN, Unknown

MAX_NODES = 5_000  # about 0.1 s for 9x9


@lru_cache(maxsize=3)
def box_of_cell(size: int) -> tuple[int, ...]:
    side = isqrt(size)
    return tuple(cell // size // side * side + cell % size // side for cell in range(size * size))


@lru_cache(maxsize=3)  # 16x16: 256 cells with 39 others each, 80 kB
def peers(size: int) -> tuple[tuple[int, ...], ...]:
    """For each cell the other cells of its row, column and box."""
    boxes = box_of_cell(size)
    everywhere = range(size * size)

    def shares_unit(a: int, b: int) -> bool:
        return a // size == b // size or a % size == b % size or boxes[a] == boxes[b]

    return tuple(tuple(b for b in everywhere if b != a and shares_unit(a, b)) for a in everywhere)


@lru_cache(maxsize=3)
def units_of_cell(size: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """For each cell the other cells of its row, of its column and of its box."""
    boxes = box_of_cell(size)
    return tuple(
        (
            tuple(b for b in peers(size)[a] if b // size == a // size),
            tuple(b for b in peers(size)[a] if b % size == a % size),
            tuple(b for b in peers(size)[a] if boxes[b] == boxes[a]),
        )
        for a in range(size * size)
    )


def candidates(grid: Sequence[int], size: int, cell: int) -> int:
    """The numbers that no peer of `cell` has, as bits."""
    taken = 0
    for peer in peers(size)[cell]:
        taken |= 1 << grid[peer]
    return ((1 << size + 1) - 2) & ~taken


class Search:
    """Counts solutions up to `most`, visiting at most `nodes` partial grids; keeps the first one found."""

    def __init__(self, size: int, *, most: int, nodes: int = MAX_NODES, rng: np.random.Generator | None = None) -> None:
        self.size = size
        self.most = most
        self.nodes = nodes
        self.rng = rng
        self.found = 0
        self.first: list[int] | None = None

    def run(self, grid: Sequence[int]) -> int | Literal[Unknown.UNKNOWN]:
        """The number of solutions, at most `most`; `UNKNOWN` if the nodes did not suffice."""
        self.grid = list(grid)
        self.rows, self.columns, self.boxes = ([0] * self.size for _ in range(3))
        for cell, number in enumerate(self.grid):
            if number and not self._put(cell, number):
                return 0
        self.empty = [cell for cell, number in enumerate(self.grid) if not number]
        self._descend()
        return UNKNOWN if self.nodes < 0 else self.found

    def _descend(self) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            return
        if not self.empty:
            self.found += 1
            self.first = self.first or list(self.grid)
            return
        index, open_numbers = self._most_constrained()
        cell = self.empty[index]
        self.empty[index] = self.empty[-1]
        self.empty.pop()
        for number in self._ordered(open_numbers):
            self._put(cell, number)
            self._descend()
            self._take(cell, number)
            if self.found >= self.most or self.nodes < 0:
                break
        self.empty.append(cell)
        self.empty[index], self.empty[-1] = self.empty[-1], self.empty[index]

    def _most_constrained(self) -> tuple[int, int]:
        """Which empty cell has the fewest candidates, and those; none if the grid contradicts itself."""
        every = (1 << self.size + 1) - 2
        boxes, size = box_of_cell(self.size), self.size
        best, fewest, its = 0, size + 1, 0
        for index, cell in enumerate(self.empty):
            bits = every & ~(self.rows[cell // size] | self.columns[cell % size] | self.boxes[boxes[cell]])
            count = bits.bit_count()
            if count < fewest:
                best, fewest, its = index, count, bits
                if count <= 1:
                    break
        return best, its

    def _ordered(self, bits: int) -> list[int]:
        numbers = [number for number in range(1, self.size + 1) if bits >> number & 1]
        return numbers if self.rng is None else [numbers[i] for i in self.rng.permutation(len(numbers))]

    def _put(self, cell: int, number: int) -> bool:
        """Whether no other cell of its units had the number."""
        row, column, box, bit = cell // self.size, cell % self.size, box_of_cell(self.size)[cell], 1 << number
        if (self.rows[row] | self.columns[column] | self.boxes[box]) & bit:
            return False
        self.grid[cell] = number
        self.rows[row] |= bit
        self.columns[column] |= bit
        self.boxes[box] |= bit
        return True

    def _take(self, cell: int, number: int) -> None:
        bit = ~(1 << number)
        self.grid[cell] = 0
        self.rows[cell // self.size] &= bit
        self.columns[cell % self.size] &= bit
        self.boxes[box_of_cell(self.size)[cell]] &= bit


def count_solutions(
    grid: Sequence[int], size: int, *, most: int = 2, nodes: int = MAX_NODES
) -> int | Literal[Unknown.UNKNOWN]:
    return Search(size, most=most, nodes=nodes).run(grid)
