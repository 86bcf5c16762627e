"""Keyset pagination: a page begins after a row, not at an offset, so new rows do not shift its contents."""

from __future__ import annotations

import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Q, QuerySet

from webapp.trajectories.filters import Filters
from webapp.trajectories.models import NUMBERS_OF_RUN, Trajectory
from webapp.trajectories.search.indexes import first_matching
from webapp.trajectories.sort_keys import flag_as_number, number_of_run, number_or_lowest

PAGE = 50
READ_FIRST = 2  # ids with the words of a search that are read at once, for each row of a page
LARGEST_ID = 2**63 - 1

Key = int | float | str
Position = tuple[Key, int]  # of a row: its key in the order, and its id


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that the list can be sorted by; `falling` is its default direction."""

    name: str
    label: str
    field: str
    falling: bool = True
    meaning: str = ""
    number: bool = False

    def key(self, *, of_whole_run: bool = False) -> Any:
        """The expression that rows are sorted by; `of_whole_run` if a list has all rows of a run."""
        return number_of_run(self.field) if of_whole_run and self.field in NUMBERS_OF_RUN else F(self.field)

    def parse_key(self, value: Any) -> Key:
        """The key in a cursor, as the database compares it; `ValueError` for one that this column cannot have."""
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("a key is a finite number")
        return value if type(value) is int else number  # a seed has more digits than a float


class NullableColumn(Column):
    def key(self, *, of_whole_run: bool = False) -> Any:
        return number_of_run(self.field) if of_whole_run else number_or_lowest(self.field)


class FlagColumn(Column):
    """True, false, and null below both."""

    def key(self, *, of_whole_run: bool = False) -> Any:
        return flag_as_number(self.field)


class TextColumn(Column):
    def parse_key(self, value: Any) -> Key:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("a key is text")
        value.encode()
        return value


COLUMNS = {
    column.name: column
    for column in (
        Column(name="recorded", label="Recorded", field="id"),
        TextColumn(name="run", label="Run", field="run_id", falling=False, meaning="Grouped by run id"),
        Column(name="step", label="Trajectory", field="step", meaning="Step, group and member"),
        FlagColumn(name="solved", label="Outcome", field="success"),
        TextColumn(name="environment", label="Environment", field="environment", falling=False),
        Column(name="seed", label="Seed", field="seed", falling=False, number=True, meaning="The problem"),
        Column(name="return", label="Return", field="episode_return", number=True),
        NullableColumn(name="advantage", label="Advantage", field="advantage", number=True),
        NullableColumn(
            name="group_std",
            label="Group std",
            field="group_std",
            number=True,
            meaning="Standard deviation of the returns in its group",
        ),
        Column(name="turns", label="Turns", field="turns", number=True),
        Column(name="tokens", label="Tokens", field="response_tokens", number=True, meaning="Sampled tokens"),
        Column(
            name="malformed",
            label="Malformed",
            field="parse_failures",
            number=True,
            meaning="Turns whose response was malformed or named an unknown action",
        ),
        FlagColumn(name="kept", label="Filter", field="kept"),
        TextColumn(name="stop", label="Ended by", field="stop", falling=False),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """By one column, then by id. Ids are always ascending, so that a group keeps its order; `turning` ones follow the
    column's direction, so that one index of the column serves both directions."""

    column: Column
    descending: bool
    turning: bool = False

    @property
    def name(self) -> str:
        """As in the query string: `return`, or `-return` for descending."""
        return f"{'-' if self.descending else ''}{self.column.name}"

    def of(self, column: Column) -> Sort:
        """The sort after a click on the header of `column`: its default direction, or the reverse of the current."""
        same = column.name == self.column.name
        return replace(self, column=column, descending=not self.descending if same else column.falling)


NEWEST = Sort(column=COLUMNS["step"], descending=True)
NEWEST_OF_ALL = Sort(column=COLUMNS["recorded"], descending=True, turning=True)


def read_sort(text: str, newest: Sort = NEWEST) -> Sort:
    """The sort requested in a query string; `newest` for an invalid one."""
    column = COLUMNS.get(text.removeprefix("-"))
    return replace(newest, column=column, descending=text.startswith("-")) if column else newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rows: Sequence[Trajectory]
    before: str  # cursor of the page before, empty on the first
    after: str  # cursor of the page after, empty on the last


def page_of(
    rows: QuerySet[Trajectory],
    sort: Sort,
    *,
    filters: Filters | None = None,
    after: str = "",
    before: str = "",
    size: int = PAGE,
) -> Page:
    """`size` rows that match, after a cursor or before one; an invalid cursor gives the first page."""
    backwards = bool(before) and not after
    cursor = _decode(sort.column, before if backwards else after)
    found = first_of(rows, sort, cursor, count=size + 1, filters=filters, backwards=backwards)
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    if not found:
        return Page(rows=[], before="", after="")
    first, last = _encode(found[0]), _encode(found[-1])
    if backwards and cursor is not None:
        return Page(rows=found, before=first if more else "", after=last)
    return Page(rows=found, before=first if cursor is not None else "", after=last if more else "")


def first_of(
    rows: QuerySet[Trajectory],
    sort: Sort,
    position: Position | None,
    *,
    count: int,
    filters: Filters | None = None,
    backwards: bool = False,
) -> list[Trajectory]:
    """The first `count` rows that match, beyond `position`; each has its key as `sort_key`."""
    if filters is not None and filters.terms and sort.column.field == "id":
        early = _first_by_words(rows, sort, position, count=count, filters=filters, backwards=backwards)
        if early is not None:
            return early
    key = sort.column.key(of_whole_run=filters is not None and filters.whole_run)
    matching = rows if filters is None else filters.apply(rows)
    return list(_ordered(matching, sort, position, key=key, backwards=backwards)[:count])


def _first_by_words(
    rows: QuerySet[Trajectory],
    sort: Sort,
    position: Position | None,
    *,
    count: int,
    filters: Filters,
    backwards: bool,
) -> list[Trajectory] | None:
    """The same in the order of ids, from the first ids with the words, where all of them may be most of a table; None
    if too few of these match the other filters."""
    down, _ = _directions(sort, backwards=backwards)
    beyond = None if position is None else position[1]
    others, found = filters.apply_conditions(rows), list[Trajectory]()
    for ids_read in (READ_FIRST * count, 10 * READ_FIRST * count):
        ids = first_matching(filters.terms, filters.run_ids, count=ids_read, descending=down, beyond=beyond)
        some = _ordered(others.filter(pk__in=ids), sort, None, key=sort.column.key(), backwards=backwards)
        found += some[: count - len(found)]
        if len(found) == count or len(ids) < ids_read:
            return found
        beyond = ids[-1]
    return None


def _ordered(
    rows: QuerySet[Trajectory], sort: Sort, position: Position | None, *, key: Any, backwards: bool
) -> QuerySet[Trajectory]:
    keyed: QuerySet[Trajectory] = rows.annotate(sort_key=key)
    if position is not None:
        keyed = keyed.filter(_beyond(sort, *position, backwards=backwards))
    down, ids_down = _directions(sort, backwards=backwards)
    return keyed.order_by("-sort_key" if down else "sort_key", "-pk" if ids_down else "pk")


def position_of(row: Trajectory) -> Position:
    """Of a row that `first_of` gave."""
    return row.sort_key, row.pk  # type: ignore[attr-defined]


def read_position(column: Column, key: Any, pk: Any) -> Position:
    """`ValueError`, `TypeError` or `OverflowError` for what is no position in an order by that column."""
    found = column.parse_key(key), int(pk)
    if not 0 <= found[1] <= LARGEST_ID:
        raise ValueError(pk)
    return found


def _beyond(sort: Sort, key: Key, pk: int, *, backwards: bool) -> Q:
    down, ids_down = _directions(sort, backwards=backwards)
    # the first condition is implied by the second, but lets an index start at the right position
    at_least = Q(**{"sort_key__lte" if down else "sort_key__gte": key})
    further = Q(**{"sort_key__lt" if down else "sort_key__gt": key})
    return at_least & (further | Q(sort_key=key, **{"pk__lt" if ids_down else "pk__gt": pk}))


def _directions(sort: Sort, *, backwards: bool) -> tuple[bool, bool]:
    """Whether the column descends, and whether ids do, in the order in which rows are read."""
    return sort.descending != backwards, (sort.turning and sort.descending) != backwards


def _encode(row: Trajectory) -> str:
    text = json.dumps(position_of(row))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(column: Column, cursor: str) -> Position | None:
    try:
        return read_position(column, *json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
