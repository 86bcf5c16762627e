"""The same problem as two evaluations played it, turn by turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.errors import RunDirectoryError
from engine.suites.outcomes import Outcome
from webapp.suites import episodes
from webapp.suites.models import SuiteEvaluation
from webapp.trajectories.alignment import Aligned, Cell, align


@dataclass(slots=True, kw_only=True)
class Side:
    """One evaluation's episode. `problem` says why there is nothing to show."""

    evaluation: SuiteEvaluation
    position: tuple[int, int, int]  # item, problem and sample
    outcome: Outcome | None = None
    aligned: Aligned | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    number: int
    cells: list[tuple[str, Cell | None]] = field(default_factory=list)  # with the key of its drawing

    @property
    def diverges(self) -> bool:
        return any(cell is not None and cell.divergence is not None for _, cell in self.cells)


def sides_of(first: SuiteEvaluation, other: SuiteEvaluation, *, item: int, problem: int, sample: int) -> list[Side]:
    """The problem of the first evaluation, and the same problem of the other, wherever its suite has it."""
    suite = first.suite()
    name = suite.items[item].problems[problem]
    found = [_side(first, (item, problem, sample))]
    position = _position(other, name)
    found.append(_side(other, (*position, sample)) if position else _absent(other))
    records = [_record(side) for side in found]
    shown = [(side, record) for side, record in zip(found, records, strict=True) if record is not None]
    for (side, _), aligned in zip(shown, align([record for _, record in shown]), strict=True):
        side.aligned = aligned
    return found


def lines_of(sides: list[Side]) -> list[Line]:
    length = max((len(side.aligned.cells) for side in sides if side.aligned), default=0)
    return [_line(sides, number) for number in range(length)]


def _line(sides: list[Side], number: int) -> Line:
    cells = [(f"board-{index}-{number}", _cell(side, number)) for index, side in enumerate(sides)]
    return Line(number=number + 1, cells=cells)


def _cell(side: Side, number: int) -> Cell | None:
    cells = side.aligned.cells if side.aligned else []
    return cells[number] if number < len(cells) else None


def _position(evaluation: SuiteEvaluation, name: str) -> tuple[int, int] | None:
    for order, item in enumerate(evaluation.suite().items):
        if name in item.problems:
            return order, item.problems.index(name)
    return None


def _absent(evaluation: SuiteEvaluation) -> Side:
    return Side(evaluation=evaluation, position=(0, 0, 0), problem="Its suite does not have this problem.")


def _side(evaluation: SuiteEvaluation, position: tuple[int, int, int]) -> Side:
    item, problem, sample = position
    outcome = episodes.outcome_at(evaluation, evaluation.suite(), item=item, problem=problem, sample=sample)
    why = "" if outcome else "It has not been played."
    return Side(evaluation=evaluation, position=position, outcome=outcome, problem=why)


def _record(side: Side) -> dict[str, Any] | None:
    if side.outcome is None:
        return None
    try:
        return episodes.record(side.evaluation, side.outcome)
    except RunDirectoryError as error:
        side.problem = str(error)
        return None
