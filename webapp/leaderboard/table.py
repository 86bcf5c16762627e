"""A leaderboard as its template draws it: heads with their links, and rows of cells."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from webapp.leaderboard.board import Board, OtherConditions
from webapp.leaderboard.cells import Cell, cell, delta_title, signed
from webapp.leaderboard.columns import COLUMNS, Column, shown_in
from webapp.leaderboard.models import Entry
from webapp.leaderboard.query import BoardQuery
from webapp.leaderboard.rows import Row
from webapp.rates import Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """`sort` is the query string that sorts by the column, `order` the order that it has now."""

    column: Column
    sort: str
    order: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    row: Row
    cells: list[Cell]
    success: Cell
    difference: str
    difference_title: str
    is_baseline: bool
    pin: str  # the query string that pins it as the baseline
    over_problems: str = ""  # the interval over problems, where the one that is drawn is over training seeds

    @property
    def numbers(self) -> SafeString:
        """The cells as HTML: a page has hundreds, and the template language takes most of its time for them."""
        return format_html_join("", "{}", ((_number(one),) for one in self.cells))

    @property
    def rank(self) -> str:
        """Empty for a configuration with one seed, which is not compared with others."""
        if self.row.group is not None and self.row.seeds == 1:
            return ""
        return str(self.row.standing.ranks or self.row.rank or "")


def heads(board: Board) -> dict[str, Head]:
    """By the key of the column."""
    query = board.query
    columns = [COLUMNS["name"], COLUMNS["success"], *shown_in(query.show, samples=board.samples)]
    return {
        column.key: Head(
            column=column,
            sort=query.sorted_by(column.key),
            order=("ascending" if query.ascending else "descending") if column.key == query.sort else "",
        )
        for column in columns
    }


def table_rows(board: Board) -> list[TableRow]:
    columns = shown_in(board.query.show, samples=board.samples)
    baseline = board.baseline.entry.pk if board.baseline else None
    return [_table_row(row, columns, board.query, baseline) for row in board.rows]


def _table_row(row: Row, columns: list[Column], query: BoardQuery, baseline: int | None) -> TableRow:
    delta, measure = row.standing.delta, query.measure
    return TableRow(
        row=row,
        cells=[cell(row, column) for column in columns],
        success=cell(row, COLUMNS["success"]),
        difference=signed(delta.difference, measure) if delta else "",
        difference_title=delta_title(delta, measure) if delta else "",
        is_baseline=row.entry.pk == baseline,
        pin=query.address(baseline=row.entry.pk, page=query.page),
        over_problems=Rate(row.success, *row.problem_interval).interval if row.problem_interval else "",
    )


def _number(one: Cell) -> SafeString:
    css = "num fault-note" if one.warns else "num"
    title = format_html(' title="{}"', one.title) if one.title else ""
    interval = format_html('<br><small class="muted nowrap">{}</small>', one.interval) if one.interval else ""
    return format_html('<td class="{}"{}>{}{}</td>', css, title, one.text, interval)


def other_rows(board: Board) -> list[tuple[OtherConditions, list[tuple[Entry, Rate]]]]:
    """Of each other key the entries that are shown, with success."""
    return [
        (one, [(entry, Rate(entry.success, entry.low, entry.high)) for entry in one.entries]) for one in board.others
    ]
