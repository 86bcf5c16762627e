"""A Sudoku in play: what the cells hold, what may be placed, and what is left to do."""

from __future__ import annotations

from operator import eq

from engine.environments.sudoku.actions import Placement
from engine.environments.sudoku.generator import Problem
from engine.environments.sudoku.solver import candidates, units_of_cell


class SudokuBoard:
    def __init__(self, problem: Problem, size: int) -> None:
        self.problem = problem
        self.size = size
        self.cells = list(problem.givens)

    @property
    def solved(self) -> bool:
        return bytes(self.cells) == self.problem.solution

    def objection(self, placement: Placement) -> str:
        """Why a placement breaks a rule; empty if it does not."""
        cell, number = self.cell_of(placement), placement.number
        if self.problem.givens[cell]:
            return "is given"
        names = (f"row {placement.row + 1}", f"column {placement.column + 1}", "its box")
        for name, unit in zip(names, units_of_cell(self.size)[cell], strict=True):
            if number and any(self.cells[other] == number for other in unit):
                return f"cannot be {number}: {name} has it"
        return ""

    def fill(self, placement: Placement) -> None:
        self.cells[self.cell_of(placement)] = placement.number

    def cell_of(self, placement: Placement) -> int:
        return placement.row * self.size + placement.column

    def is_wrong(self, cell: int) -> bool:
        """Whether it holds another number than in the solution. Empty cells are not wrong."""
        return self.cells[cell] not in (0, self.problem.solution[cell])

    def empty(self) -> list[int]:
        return [cell for cell, number in enumerate(self.cells) if not number]

    def right_cells(self) -> int:
        """How many cells that were not given hold their number of the solution."""
        right: int = sum(map(eq, self.cells, self.problem.solution))
        return right - (len(self.cells) - self.problem.givens.count(0))

    def candidates_of(self, cell: int) -> list[int]:
        """The numbers that may be placed there now."""
        bits = candidates(self.cells, self.size, cell)
        return [number for number in range(1, self.size + 1) if bits >> number & 1]

    def placement_in(self, cell: int, number: int) -> Placement:
        return Placement(*divmod(cell, self.size), number)

    def rest(self) -> list[Placement]:
        """Placements that lead to the solution: one per cell that is empty or wrong, and where wrong numbers exclude
        each other's corrections, one that empties a cell first."""
        trial = SudokuBoard(self.problem, self.size)
        trial.cells = list(self.cells)
        left = [cell for cell, number in enumerate(trial.cells) if number != self.problem.solution[cell]]
        found: list[Placement] = []
        while left:
            choices = (trial.placement_in(cell, self.problem.solution[cell]) for cell in left)
            chosen = next((one for one in choices if not trial.objection(one)), None)
            if chosen is None:
                chosen = trial.placement_in(next(cell for cell in left if trial.cells[cell]), 0)
            else:
                left.remove(trial.cell_of(chosen))
            trial.fill(chosen)
            found.append(chosen)
        return found

    def rows(self) -> list[list[int]]:
        return [self.cells[start : start + self.size] for start in range(0, self.size**2, self.size)]
