"""The page that compares trajectories side by side, with optimal play."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from engine.environments.optimal import UNSOLVABLE, OptimalPlay
from engine.errors import RunDirectoryError, StarboardError
from webapp.environments.calls import ask
from webapp.trajectories import services
from webapp.trajectories.alignment import Aligned, Cell, Divergence, align
from webapp.trajectories.models import Trajectory
from webapp.trajectories.scope import Scope

log = logging.getLogger(__name__)

MOST = 8  # side by side
TURNS = 30  # on a page
STEPS = 6  # of one problem over time
SEARCH_SECONDS = 1.5  # for all distances of a page
CALL_SECONDS = 3.0  # of each environment, which may hang


@dataclass(slots=True, kw_only=True)
class Column:
    """One trajectory. `problem` is the reason if its record cannot be read; `to_go` has a number before and after each
    turn."""

    row: Trajectory
    record: dict[str, Any] | None = None
    problem: str = ""
    remedy: str = ""
    aligned: Aligned | None = None
    to_go: list[int | None] = field(default_factory=list)
    name: str = ""  # what tells it from the others, in short
    jump: str = ""  # the address of the turn where it diverges
    as_first: str = ""  # the query with it first
    without: str = ""  # the query without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    name: str
    effective: bool
    diverges: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A cell of the table, empty where a trajectory has ended or cannot be read. `diverging` has the names of what
    diverges here, and `marked` the positions of the actions: its own, or in the first column those of others."""

    column: Column
    key: str
    cell: Cell | None
    to_go: int | None
    divergence: Divergence | None = None
    diverging: list[str] = field(default_factory=list)
    marked: frozenset[int] = frozenset()

    @property
    def diverges(self) -> bool:
        return bool(self.divergence or self.diverging)

    @property
    def actions(self) -> list[Action]:
        """Those that were executed, and a missing one where another trajectory has one."""
        turn = self.cell.turn if self.cell else {}
        done = [(str(frame["action"]), bool(frame["effective"])) for frame in turn.get("frames") or []]
        done = done or [(str(name), True) for name in turn.get("executed") or []]
        missing = [("", True)] * (len(done) in self.marked)
        return [
            Action(name=name, effective=effective, diverges=index in self.marked)
            for index, (name, effective) in enumerate([*done, *missing])
        ]

    @property
    def distance(self) -> str:
        if self.to_go is None:
            return ""
        if self.to_go == UNSOLVABLE:
            return "no longer solvable"
        return f"{self.to_go} action{'' if self.to_go == 1 else 's'} from success" if self.to_go else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The turn's part of optimal play: as many actions as the model may execute in one turn."""

    key: str
    actions: list[str]
    drawing: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    number: int
    slots: list[Slot]
    best: Best | None

    @property
    def is_alike(self) -> bool:
        """Whether all others have the same actions in the same state as the first."""
        others = self.slots[1:]
        return bool(others) and all(slot.cell is not None and slot.cell.is_alike for slot in others)


def read_ids(values: Sequence[str]) -> list[int]:
    """`ids=1,2` and `ids=1&ids=2` alike, each once, in order; values that are not ids are ignored."""
    parts = [part.strip() for value in values for part in value.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 19))


def compare_page(scope: Scope, ids: list[int], *, best: bool, start: str) -> dict[str, Any]:
    """The context of the comparison's template; ids outside the scope are ignored."""
    found = scope.rows().select_related("run").filter(pk__in=ids[:MOST]).in_bulk()
    columns = [_column(found[pk]) for pk in ids if pk in found]
    shown = [column for column in columns if column.record is not None]
    for column, aligned in zip(shown, align([column.record for column in shown if column.record]), strict=True):
        column.aligned = aligned
    for column, name in zip(columns, _names([column.row for column in columns]), strict=True):
        column.name = name
        others = [str(other.row.pk) for other in columns if other is not column]
        column.as_first = _query([str(column.row.pk), *others], best=best)
        column.without = _query(others, best=best)
    play = None
    if best:
        try:
            play = _best_play(shown)
            _measure(shown)
        except CallFailed as error:  # no worker, which the page waits for once
            log.warning("No optimal play: %s", error)
    keys = [str(column.row.pk) for column in columns]
    length = max([len(column.aligned.cells) for column in shown if column.aligned], default=0)
    first = _first_turn(start, length)
    for column in shown:
        column.jump = _jump(column, keys, best=best, first=first)
    turns = range(first, min(length, first + TURNS - 1) + 1)
    return {
        "scope": scope,
        "columns": columns,
        "rows": [_row(number, columns, play) for number in turns],
        "best": play,
        "best_shown": best,
        "best_known": any(_is_solved(column.record) for column in shown),
        "best_query": _query(keys, best=not best),
        "first_divergence": min(
            (column for column in shown if column.jump), key=lambda column: _turn_of(column), default=None
        ),
        "one_problem": len({(column.row.environment, column.row.seed) for column in columns}) == 1,
        "over_many": len(ids) > MOST,
        "most": MOST,
        "earlier": _query(keys, best=best, start=max(1, first - TURNS)) if first > 1 else "",
        "later": _query(keys, best=best, start=first + TURNS) if first + TURNS <= length else "",
    }


def _names(rows: list[Trajectory]) -> list[str]:
    """What tells each of the rows from the others: its member, or its step, group and member as far as they differ."""
    fields = ("run_id", "step", "split", "group", "member")
    differing = [name for name in fields if len({getattr(row, name) for row in rows}) > 1]
    return [" ".join(_name(row, name) for name in differing) or f"member {row.member}" for row in rows]


def _name(row: Trajectory, field_name: str) -> str:
    if field_name == "run_id":
        return row.run.name
    if field_name == "split":
        return "held-out" if row.split == "validation" else "training"
    return f"{field_name} {getattr(row, field_name)}"


def _turn_of(column: Column) -> int:
    divergence = column.aligned.divergence if column.aligned else None
    return divergence.turn if divergence else 0


def _jump(column: Column, keys: list[str], *, best: bool, first: int) -> str:
    """The address of the turn where the column diverges, which may be on another page."""
    turn = _turn_of(column)
    if not turn:
        return ""
    if first <= turn < first + TURNS:
        return f"#turn-{turn}"
    page = (turn - 1) // TURNS * TURNS + 1
    return f"?{_query(keys, best=best, start=page)}#turn-{turn}"


def _first_turn(text: str, length: int) -> int:
    requested = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
    return max(1, min(requested, length))


def over_time(trajectory: Trajectory) -> list[int]:
    """Ids of trajectories of the same problem at up to six steps, the first and the newest among them; or none."""
    same = {"seed": trajectory.seed, "environment": trajectory.environment, "split": trajectory.split}
    rows = Trajectory.objects.filter(run=trajectory.run_id, removed=False, **same).order_by("step", "member")
    by_step = dict(rows.values_list("step", "pk").reverse())  # of several at a step the first member
    by_step[trajectory.step] = trajectory.pk
    steps = sorted(by_step)
    if len(steps) < 2:
        return []
    chosen = {steps[round(index * (len(steps) - 1) / (STEPS - 1))] for index in range(STEPS)} | {trajectory.step}
    return [by_step[step] for step in sorted(chosen)]


def _column(row: Trajectory) -> Column:
    try:
        return Column(row=row, record=services.record(row))
    except RunDirectoryError as error:
        return Column(row=row, problem=error.message, remedy=error.remedy)


def _row(number: int, columns: list[Column], play: OptimalPlay | None) -> Row:
    diverging = [column for column in columns if _turn_of(column) == number]
    slots = [_slot(number, column, diverging, is_first=column is columns[0]) for column in columns]
    return Row(number=number, slots=slots, best=_best_turn(number, play, columns))


def _slot(number: int, column: Column, diverging: list[Column], *, is_first: bool) -> Slot:
    cells = column.aligned.cells if column.aligned else []
    cell = cells[number - 1] if number <= len(cells) else None
    own = [other for other in diverging if other is column or is_first]
    found = [other.aligned.divergence for other in own if other.aligned and other.aligned.divergence]
    return Slot(
        column=column,
        key=f"board-{column.row.pk}-{number}",
        cell=cell,
        to_go=column.to_go[number] if cell and number < len(column.to_go) else None,
        divergence=found[0] if found and not is_first else None,
        diverging=[other.name for other in own] if is_first else [],
        marked=frozenset(divergence.index for divergence in found),
    )


def _best_turn(number: int, play: OptimalPlay | None, columns: list[Column]) -> Best | None:
    config = _environment(columns[0].row) if play else None
    if play is None or config is None:
        return None
    begin = (number - 1) * config.max_actions_per_turn
    actions = play.actions[begin : begin + config.max_actions_per_turn]
    if not actions:
        return None
    return Best(key=f"board-best-{number}", actions=actions, drawing=play.drawings[begin + len(actions)])


def _best_play(columns: list[Column]) -> OptimalPlay | None:
    """Of the first trajectory's problem."""
    if not columns or columns[0].record is None:
        return None
    row, initial = columns[0].row, columns[0].record.get("initial") or {}
    config = _environment(row)
    try:
        arguments = {"seed": row.seed, "initial": initial.get("drawing")}
        found = ask("optimal", config, seconds=CALL_SECONDS, **arguments)["optimal"] if config else None
        return OptimalPlay(**found) if found else None
    except CallFailed as error:
        if error.unasked:
            raise
        log.warning("Run %s: no best play of seed %d: %s", row.run_id, row.seed, error)
        return None


def _is_solved(record: dict[str, Any] | None) -> bool:
    """Whether the environment had a solution when the episode began."""
    return record is not None and record.get("optimal_length") is not None


def _measure(columns: list[Column]) -> None:
    for column in columns:
        config = _environment(column.row)
        if config is None or column.record is None:
            continue
        turns = [[(frame["action"], frame["drawing"]) for frame in turn["frames"]] for turn in column.record["turns"]]
        try:
            arguments = {"seed": column.row.seed, "turns": turns, "seconds_for_all": SEARCH_SECONDS / len(columns)}
            column.to_go = ask("distances", config, seconds=CALL_SECONDS, **arguments)["to_go"]
        except CallFailed as error:
            if error.unasked:
                raise
            log.warning("Run %s: no distances of seed %d: %s", column.row.run_id, column.row.seed, error)


def _environment(row: Trajectory) -> EnvironmentConfig | None:
    """The configuration that the trajectory was played with, None for a run that has none of that name."""
    try:
        environments = row.run.parsed_config().environments
    except (ValueError, StarboardError):
        return None
    return next((config for config in environments if config.tag == row.environment), None)


def _query(ids: list[str], *, best: bool, start: int = 1) -> str:
    parts = {"ids": ",".join(ids), "best": "1" if best else "", "from": str(start) if start > 1 else ""}
    return urlencode({name: value for name, value in parts.items() if value}, safe=",")
