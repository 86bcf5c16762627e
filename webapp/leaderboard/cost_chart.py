"""The chart of a measure against what training cost, with the Pareto front: which rows give most for each cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TypedDict

import numpy as np
from django.db.models import QuerySet
from django.urls import reverse
from numpy.typing import NDArray

from engine.statistics.pareto import pareto_front
from webapp.leaderboard.board import Board, matching_entries, with_runs
from webapp.leaderboard.cells import Cell, cell
from webapp.leaderboard.columns import COLUMNS, COSTS, Column
from webapp.leaderboard.configurations import configurations
from webapp.leaderboard.models import Entry
from webapp.leaderboard.rows import Row
from webapp.leaderboard.standings import Standing
from webapp.visible_text import visible

Floats = NDArray[np.float64]
MOST_POINTS = 300  # the front, and then the best
NO_COLOUR = 1  # of what no run trained, as in the table's bars


class Point(TypedDict):
    """As the browser draws it; `address` is empty on public pages."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str
    colour: int
    front: bool
    device: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    row: Row
    cost: Cell
    value: Cell


@dataclass(slots=True, kw_only=True)
class CostChart:
    """`known` rows have both a cost and a value, `unknown` ones do not; `points` are those that are drawn."""

    cost: Column
    measure: Column
    points: list[Point] = field(default_factory=list)
    front: list[FrontRow] = field(default_factory=list)
    known: int = 0
    unknown: int = 0
    devices: list[str] = field(default_factory=list)  # more than one: each has a front of its own

    @property
    def content(self) -> dict[str, Any]:
        """For the browser."""
        return {
            "points": self.points,
            "cost": self.cost.title,
            "measure": self.measure.title,
            "share": self.measure.unit == "share",
            "devices": self.devices or [""],
        }


def read_cost_chart(board: Board, *, public: bool = False) -> CostChart | None:
    """None unless the address has one. Rows are those that match the filter, on all pages."""
    query = board.query
    if not query.against or not board.key:
        return None
    chart = CostChart(cost=COLUMNS[query.against], measure=query.measure)
    matching = matching_entries(board.suite, board.key, query)
    rows = _members(matching) if query.by_configuration else [[pk] for pk in matching.values_list("pk", flat=True)]
    costs, values = (_means(matching, rows, column) for column in (chart.cost, chart.measure))
    known = np.flatnonzero(~np.isnan(costs) & ~np.isnan(values))
    chart.known, chart.unknown = len(known), len(rows) - len(known)
    devices = _devices(matching, rows) if chart.cost.unit == "hours" else np.full(len(rows), "")
    chart.devices = sorted(set(devices[known].tolist()))
    worth = -values if chart.measure.ascending else values
    front = np.zeros(len(rows), dtype=bool)
    for device in chart.devices:  # an hour of a CPU is not one of a GPU
        own = known[devices[known] == device]
        front[own] = pareto_front(costs[own], worth[own])
    drawn = sorted(known.tolist(), key=lambda index: (not front[index], -worth[index]))[:MOST_POINTS]
    entries = with_runs(pk for index in drawn for pk in rows[index])
    for index in sorted(drawn, key=lambda index: (costs[index], worth[index])):
        members = [entries[pk] for pk in rows[index]]
        row = Row(entry=members[0], rank=None, standing=Standing(), members=members)
        at = float(costs[index]), float(values[index])
        chart.points.append(_point(row, chart, at, is_front=bool(front[index]), public=public))
        if front[index]:
            chart.front.append(FrontRow(row=row, cost=cell(row, chart.cost), value=cell(row, chart.measure)))
    return chart


def _members(matching: QuerySet[Entry]) -> list[list[int]]:
    """The entries of each configuration."""
    listed = configurations(matching, "success")
    return [listed.members(index) for index in range(len(listed))]


def _means(matching: QuerySet[Entry], rows: Sequence[Sequence[int]], column: Column) -> Floats:
    """Of each row, over its members; NaN where one of them is not known."""
    values: Mapping[int, float | None] = dict(matching.order_by().values_list("pk", column.field))
    found = ([values[pk] for pk in row] for row in rows)
    return np.array([np.nan if None in row else fmean(one for one in row if one is not None) for row in found])


def _devices(matching: QuerySet[Entry], rows: Sequence[Sequence[int]]) -> NDArray[np.str_]:
    known = dict(matching.order_by().values_list("pk", "device"))
    return np.array([known[row[0]] for row in rows], dtype=str)


def _point(row: Row, chart: CostChart, at: tuple[float, float], *, is_front: bool, public: bool) -> Point:
    _, low, high = row.estimate(chart.measure) or (None, None, None)
    value = cell(row, chart.measure)
    lines = [
        row.name,
        f"{chart.measure.title} {value.text}{f' ({value.interval})' if value.interval else ''}",
        f"{chart.cost.title} {cell(row, chart.cost).text}",
    ]
    return Point(
        x=at[0],
        y=at[1],
        low=low,
        high=high,
        text="\n".join(visible(line) for line in lines),
        colour=row.entry.run.colour if row.entry.run else NO_COLOUR,
        front=is_front,
        device=row.entry.device if chart.cost.unit == "hours" else "",
        address="" if public else reverse("suites:evaluation", args=[row.entry.pk]),
    )


def cost_links(board: Board) -> list[tuple[str, str, bool]]:
    """The costs that a chart can be against: title, query string, and whether it is the shown one."""
    return [
        (COLUMNS[key].title, board.query.address(against=key, page=board.query.page), key == board.query.against)
        for key in COSTS
    ]
