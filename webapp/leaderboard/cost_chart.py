"""The chart of a measure against what training cost, with the Pareto front: which rows give most for each cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

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
    rows, costs, values, devices = _rows(matching, chart.cost, chart.measure, grouped=query.by_configuration)
    known = np.flatnonzero(~np.isnan(costs) & ~np.isnan(values))
    chart.known, chart.unknown = len(known), len(rows) - len(known)
    if chart.cost.unit != "hours":
        devices = np.full(len(rows), "")
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


class _Rows(NamedTuple):
    """The entries of each row, and of each the mean cost and value, NaN where one is not known, and the device."""

    members: list[list[int]]
    costs: Floats
    values: Floats
    devices: NDArray[np.str_]


def _rows(matching: QuerySet[Entry], cost: Column, measure: Column, *, grouped: bool) -> _Rows:
    """Entries, or configurations with their members."""
    found = list(matching.values_list("pk", cost.field, measure.field, "device"))
    keys = [pk for pk, *_ in found]
    numbers = np.array([(cost, value) for _, cost, value, _ in found], np.float64).reshape(-1, 2)
    devices = np.array([device for *_, device in found], dtype=str)
    if not grouped:
        return _Rows([[pk] for pk in keys], numbers[:, 0], numbers[:, 1], devices)
    listed = configurations(matching, measure.field)
    position = {pk: index for index, pk in enumerate(keys)}
    order = np.array([position[pk] for pk in listed.keys.tolist()], np.int64)
    members = [listed.members(index) for index in range(len(listed))]
    costs, values = (listed.means(numbers[order, column]) for column in (0, 1))
    return _Rows(members, costs, values, devices[order[listed.starts]])


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
