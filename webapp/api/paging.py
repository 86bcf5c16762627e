"""Opaque cursors: where a page ended, bound to the filters it was made with."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import F, Model, Q, QuerySet
from django.db.models.expressions import Combinable

from webapp.api.endpoints import Fields
from webapp.api.problems import Problem
from webapp.live.reading import can_be_a_name

Row = TypeVar("Row", bound=Model)  # with `created_at`
Found = TypeVar("Found")

ROW_ID = re.compile("[0-9a-z]{1,10}")
POSITION = ("after", "limit")  # fields of a query that select no rows


def page(rows: QuerySet[Row], query: Fields, *, after: str | None, limit: int) -> tuple[list[Row], str | None]:
    """At most `limit` rows, newest first, and the cursor of the next page; None if this one is the last."""
    filters = filters_of(query)
    if after:
        rows = read_cursor(after, filters, lambda time, pk: rows.filter(_older(rows, time, pk)))
    found = list(rows.order_by("-created_at", "-pk")[: limit + 1])
    return found[:limit], _cursor(found, limit, filters)


def sorted_page(
    rows: QuerySet[Row], query: Fields, order: Combinable, *, descending: bool, after: str | None, limit: int
) -> tuple[list[Row], str | None]:
    """As `page`, by `order`, which the rows have as `sort_value`. Rows without a value come last either way, equal ones
    newest first."""
    filters = filters_of(query)
    keyed: QuerySet[Any, Any] = rows.annotate(sort_value=order)
    if after:
        keyed = read_cursor(
            after,
            filters,
            lambda value, time, pk: keyed.filter(_further(value, _older(rows, time, pk), descending=descending)),
        )
    value = F("sort_value")
    ordered = value.desc(nulls_last=True) if descending else value.asc(nulls_last=True)
    found = list(keyed.order_by(ordered, "-created_at", "-pk")[: limit + 1])
    return found[:limit], _cursor(found, limit, filters, "sort_value")


def _cursor(found: list[Row], limit: int, filters: str, *keys: str) -> str | None:
    if len(found) <= limit:
        return None
    last = found[limit - 1]
    position = [getattr(last, key) for key in (*keys, "created_at")]
    times = [one.isoformat() if isinstance(one, datetime) else one for one in position]
    return write_cursor([*times, str(last.pk)], filters)


def write_cursor(position: Iterable[Any], filters: str) -> str:
    """Of a page that ended at `position`, what JSON has; `filters` are those of `filters_of`."""
    text = json.dumps([filters, *position])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, filters: str, read: Callable[..., Found]) -> Found:
    """What `read` makes of the position of the cursor; it raises `ValueError` or the like for what is none. `Problem`
    for a text that is no cursor, or that was made with other filters."""
    try:
        made_with, *position = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        found = read(*position)
    except (ValueError, TypeError, OverflowError, RecursionError, ValidationError):
        raise Problem(
            400, f"after is {cursor[:60]!r}, which is not a cursor", "Send the `next` of the previous page."
        ) from None
    if made_with != filters:
        raise Problem(
            400,
            "The cursor in after was made with other filters",
            "Send it with the filters of the page that it came with.",
        )
    return found


def _older(rows: QuerySet[Row], time: Any, pk: Any) -> Q:
    at = datetime.fromisoformat(time)
    if at.tzinfo is None or not ROW_ID.fullmatch(pk):
        raise ValueError(pk)
    return Q(created_at__lt=at) | Q(created_at=at, pk__lt=rows.model._meta.pk.to_python(pk))


def _further(value: Any, older: Q, *, descending: bool) -> Q:
    if value is None:
        return Q(sort_value__isnull=True) & older
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if isinstance(value, str) and not can_be_a_name(value):
        raise ValueError(value)
    beyond = Q(sort_value__lt=value) if descending else Q(sort_value__gt=value)
    return beyond | Q(sort_value__isnull=True) | (Q(sort_value=value) & older)


def filters_of(query: Fields, without: Iterable[str] = POSITION) -> str:
    """A digest of the query without the fields `without`, which select no rows."""
    chosen = query.model_dump(mode="json", exclude=set(without))
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:12]
