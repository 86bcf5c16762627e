"""Keyset pages: a page begins after a row, never at a number, so rows that arrive move nothing."""

from __future__ import annotations

import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from webapp.trajectories.models import Trajectory

PAGE = 50
BELOW_ALL = -1e300  # where a row without an advantage sorts


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """By one column, then by id. `descending` is of the column; ids always rise."""

    name: str
    label: str
    column: str
    descending: bool = True
    nullable: bool = False

    def key(self) -> Any:
        return Coalesce(F(self.column), Value(BELOW_ALL)) if self.nullable else F(self.column)


SORTS = {
    sort.name: sort
    for sort in (
        Sort(name="newest", label="Newest step", column="step"),
        Sort(name="oldest", label="Oldest step", column="step", descending=False),
        Sort(name="return", label="Highest return", column="episode_return"),
        Sort(name="worst", label="Lowest return", column="episode_return", descending=False),
        Sort(name="advantage", label="Highest advantage", column="advantage", nullable=True),
        Sort(name="spread", label="Largest spread in the group", column="group_std", nullable=True),
        Sort(name="turns", label="Most turns", column="turns"),
        Sort(name="tokens", label="Most tokens", column="reply_tokens"),
        Sort(name="failures", label="Most parse failures", column="parse_failures"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    rows: Sequence[Trajectory]
    before: str  # cursor of the page before, empty on the first
    after: str  # cursor of the page after, empty on the last


def page_of(rows: QuerySet[Trajectory], sort: Sort, *, after: str = "", before: str = "", size: int = PAGE) -> Page:
    """`size` rows after a cursor, or the `size` rows before one; a cursor that makes no sense gives the first page."""
    keyed = rows.annotate(sort_key=sort.key())
    backwards = bool(before) and not after
    place = _decode(before if backwards else after)
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


def _beyond(sort: Sort, key: float, pk: int, *, backwards: bool) -> Q:
    further = "sort_key__lt" if sort.descending != backwards else "sort_key__gt"
    return Q(**{further: key}) | Q(sort_key=key, **{"pk__lt" if backwards else "pk__gt": pk})


def _encode(row: Trajectory) -> str:
    text = json.dumps([row.sort_key, row.pk])  # type: ignore[attr-defined]
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[float, int] | None:
    try:
        key, pk = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        place = float(key), int(pk)
    except (ValueError, TypeError, OverflowError):
        return None
    return place if math.isfinite(place[0]) else None
