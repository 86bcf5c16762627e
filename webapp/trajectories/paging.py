"""Keyset pagination: a page begins after a row, not at an offset, so new rows do not shift its contents."""

from __future__ import annotations

import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Q, QuerySet

from webapp.trajectories.models import Trajectory
from webapp.trajectories.sort_keys import flag_as_number, number_or_lowest

PAGE = 50

Key = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that the list can be sorted by; `falling` is its default direction."""

    name: str
    label: str
    field: str
    falling: bool = True
    meaning: str = ""
    number: bool = False

    def key(self) -> Any:
        return F(self.field)

    def parse_key(self, value: Any) -> Key:
        """The key in a cursor, as the database compares it; `ValueError` for one that this column cannot have."""
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("a key is a finite number")
        return value if type(value) is int else number  # a seed has more digits than a float


class NullableColumn(Column):
    def key(self) -> Any:
        return number_or_lowest(self.field)


class FlagColumn(Column):
    """True, false, and null below both."""

    def key(self) -> Any:
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


def page_of(rows: QuerySet[Trajectory], sort: Sort, *, after: str = "", before: str = "", size: int = PAGE) -> Page:
    """`size` rows after a cursor, or the `size` rows before one; an invalid cursor gives the first page."""
    keyed = rows.annotate(sort_key=sort.column.key())
    backwards = bool(before) and not after
    cursor = _decode(sort.column, before if backwards else after)
    if cursor is not None:
        keyed = keyed.filter(_beyond(sort, *cursor, backwards=backwards))
    down, ids_down = _directions(sort, backwards=backwards)
    found = list(keyed.order_by("-sort_key" if down else "sort_key", "-pk" if ids_down else "pk")[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    if not found:
        return Page(rows=[], before="", after="")
    first, last = _encode(found[0]), _encode(found[-1])
    if backwards and cursor is not None:
        return Page(rows=found, before=first if more else "", after=last)
    return Page(rows=found, before=first if cursor is not None else "", after=last if more else "")


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
    text = json.dumps([row.sort_key, row.pk])  # type: ignore[attr-defined]
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(column: Column, cursor: str) -> tuple[Key, int] | None:
    try:
        key, pk = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return column.parse_key(key), int(pk)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
