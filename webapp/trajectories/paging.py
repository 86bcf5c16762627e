"""Keyset pages: a page begins after a row, never at a number, so rows that arrive move nothing."""

from __future__ import annotations

import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, IntegerField, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce

from webapp.trajectories.models import Trajectory

PAGE = 50
BELOW_ALL = -1e300  # where a row without a value sorts

Key = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the list that it can be sorted by; `falling` is how it is sorted first."""

    name: str
    label: str
    field: str
    falling: bool = True
    meaning: str = ""
    number: bool = False

    def key(self) -> Any:
        return F(self.field)

    def place(self, value: Any) -> Key:
        """A key of a cursor, as the database compares it; `ValueError` for one that this column cannot have."""
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("a key is a finite number")
        return number


class NullableColumn(Column):
    def key(self) -> Any:
        return Coalesce(F(self.field), Value(BELOW_ALL))


class FlagColumn(Column):
    """True, false, and null below both; as numbers, which every database can compare."""

    def key(self) -> Any:
        return Coalesce(Cast(F(self.field), IntegerField()), Value(-1))


class TextColumn(Column):
    def place(self, value: Any) -> Key:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("a key is text")
        value.encode()
        return value


COLUMNS = {
    column.name: column
    for column in (
        Column(name="step", label="Trajectory", field="step", meaning="Step, group and member"),
        FlagColumn(name="solved", label="Outcome", field="success"),
        TextColumn(name="environment", label="Environment", field="environment", falling=False),
        Column(name="seed", label="Seed", field="seed", falling=False, number=True, meaning="The puzzle"),
        Column(name="return", label="Return", field="episode_return", number=True),
        NullableColumn(name="advantage", label="Advantage", field="advantage", number=True),
        NullableColumn(
            name="spread",
            label="Spread",
            field="group_std",
            number=True,
            meaning="Standard deviation of the returns in its group",
        ),
        Column(name="turns", label="Turns", field="turns", number=True),
        Column(name="tokens", label="Tokens", field="reply_tokens", number=True, meaning="Tokens that were sampled"),
        Column(
            name="unparsed",
            label="Unparsed",
            field="parse_failures",
            number=True,
            meaning="Turns whose reply could not be parsed",
        ),
        FlagColumn(name="kept", label="Filter", field="kept"),
        TextColumn(name="stop", label="Ended by", field="stop", falling=False),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """By one column, then by id; ids always rise."""

    column: Column
    descending: bool

    @property
    def name(self) -> str:
        """As an address has it: `return`, or `-return` from the highest down."""
        return f"{'-' if self.descending else ''}{self.column.name}"

    def of(self, column: Column) -> Sort:
        """What a click on the head of `column` asks for: its first order, or the other way round."""
        same = column.name == self.column.name
        return Sort(column=column, descending=not self.descending if same else column.falling)


NEWEST = Sort(column=COLUMNS["step"], descending=True)


def read_sort(text: str) -> Sort:
    """The sort that an address asks for; the newest first for one that makes no sense."""
    column = COLUMNS.get(text.removeprefix("-"))
    return Sort(column=column, descending=text.startswith("-")) if column else NEWEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rows: Sequence[Trajectory]
    before: str  # cursor of the page before, empty on the first
    after: str  # cursor of the page after, empty on the last


def page_of(rows: QuerySet[Trajectory], sort: Sort, *, after: str = "", before: str = "", size: int = PAGE) -> Page:
    """`size` rows after a cursor, or the `size` rows before one; a cursor that makes no sense gives the first page."""
    keyed = rows.annotate(sort_key=sort.column.key())
    backwards = bool(before) and not after
    place = _decode(sort.column, before if backwards else after)
    if place is not None:
        keyed = keyed.filter(_beyond(sort, *place, backwards=backwards))
    down = sort.descending != backwards
    found = list(keyed.order_by("-sort_key" if down else "sort_key", "-pk" if backwards else "pk")[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    if not found:
        return Page(rows=[], before="", after="")
    first, last = _encode(found[0]), _encode(found[-1])
    if backwards and place is not None:
        return Page(rows=found, before=first if more else "", after=last)
    return Page(rows=found, before=first if place is not None else "", after=last if more else "")


def _beyond(sort: Sort, key: Key, pk: int, *, backwards: bool) -> Q:
    down = sort.descending != backwards
    # the first condition says no more than the second, but lets an index begin in the right place
    at_least = Q(**{"sort_key__lte" if down else "sort_key__gte": key})
    further = Q(**{"sort_key__lt" if down else "sort_key__gt": key})
    return at_least & (further | Q(sort_key=key, **{"pk__lt" if backwards else "pk__gt": pk}))


def _encode(row: Trajectory) -> str:
    text = json.dumps([row.sort_key, row.pk])  # type: ignore[attr-defined]
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(column: Column, cursor: str) -> tuple[Key, int] | None:
    try:
        key, pk = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return column.place(key), int(pk)
    except (ValueError, TypeError, OverflowError):
        return None
