"""The chart of a measure against what training cost, with the Pareto front: which rows give most for each cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

import numpy as np
from django.urls import reverse
from numpy.typing import NDArray

from engine.statistics.pareto import pareto_front
from webapp.leaderboard.board import Board
from webapp.leaderboard.cells import Cell, cell
from webapp.leaderboard.columns import COLUMNS, COSTS, Column
from webapp.leaderboard.configurations import Configurations
from webapp.leaderboard.listing import Listing
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
    if not query.against or board.listed is None:
        return None
    chart = CostChart(cost=COLUMNS[query.against], measure=query.measure)
    rows = _rows(board.listed, _costs(board, chart.cost))
    costs, values, devices = rows.costs, rows.values, rows.devices
    known = np.flatnonzero(~np.isnan(costs) & ~np.isnan(values))
    chart.known, chart.unknown = len(known), len(costs) - len(known)
    chart.devices = sorted(set(devices[known].tolist()))
    worth = -values if chart.measure.ascending else values
    front = np.zeros(len(costs), dtype=bool)
    for device in chart.devices:  # an hour of a CPU is not one of a GPU
        own = known[devices[known] == device]
        front[own] = pareto_front(costs[own], worth[own])
    drawn = known[np.lexsort((-worth[known], ~front[known]))][:MOST_POINTS]
    members = {index: rows.members(index) for index in drawn.tolist()}
    entries = _entries([pk for keys in members.values() for pk in keys], chart)
    address = "" if public else reverse("suites:evaluation", args=[0])
    for index in drawn[np.lexsort((worth[drawn], costs[drawn]))].tolist():
        found = [entries[pk] for pk in members[index] if pk in entries]  # one may have been deleted meanwhile
        if not found:
            continue
        row = Row(entry=found[0], rank=None, standing=Standing(), members=found)
        at = float(costs[index]), float(values[index])
        chart.points.append(_point(row, chart, at, is_front=bool(front[index]), address=address))
        if front[index]:
            chart.front.append(FrontRow(row=row, cost=cell(row, chart.cost), value=cell(row, chart.measure)))
    return chart


class _Rows(NamedTuple):
    """Of each row the mean cost and value, NaN where one is not known, the device, and the keys of its entries."""

    costs: Floats
    values: Floats
    devices: NDArray[np.str_]
    members: Callable[[int], list[int]]


def _costs(board: Board, cost: Column) -> dict[int, tuple[float | None, str]]:
    """By entry, with the device where that matters: of all that have the key, whoever may read them, since these are
    in an index and need no row."""
    entries = Entry.objects.filter(suite=board.suite, key=board.key)
    rows = entries.order_by().values_list("pk", cost.field, "device")
    if cost.unit != "hours":
        return {pk: (number, "") for pk, number, _ in rows}
    return {pk: (number, device) for pk, number, device in rows}


def _rows(listed: Listing | Configurations, costs: Mapping[int, tuple[float | None, str]]) -> _Rows:
    """Entries, or configurations with their members."""
    found = [costs.get(pk, (None, "")) for pk in listed.keys.tolist()]
    numbers = np.array([number for number, _ in found], np.float64)
    devices = np.array([device for _, device in found], dtype=str)
    if isinstance(listed, Listing):
        return _Rows(numbers, listed.values, devices, lambda index: [int(listed.keys[index])])
    return _Rows(listed.means(numbers), listed.means(listed.values), devices[listed.starts], listed.members)


def _entries(keys: Sequence[int], chart: CostChart) -> dict[int, Entry]:
    """With what a point is drawn from: whole entries are kilobytes wide."""
    fields = {"name", "preset", "model", "device", "half_known", "success", "low", "high", "run__colour"}
    fields |= {chart.cost.field, chart.measure.field}
    if chart.measure.measure or chart.cost.measure:
        fields.add("measures")
    return Entry.objects.select_related("run").order_by().only(*fields).in_bulk(list(keys))


def _point(row: Row, chart: CostChart, at: tuple[float, float], *, is_front: bool, address: str) -> Point:
    """`address` is that of evaluation 0."""
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
        address=address.replace("/0/", f"/{row.entry.pk}/"),
    )


def cost_links(board: Board) -> list[tuple[str, str, bool]]:
    """The costs that a chart can be against: title, query string, and whether it is the shown one."""
    return [
        (COLUMNS[key].title, board.query.address(against=key, page=board.query.page), key == board.query.against)
        for key in COSTS
    ]
