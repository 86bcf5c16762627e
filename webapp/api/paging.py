"""Opaque cursors: where a page ended, bound to the filters it was made with."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime
from typing import TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from webapp.api.endpoints import Fields
from webapp.api.problems import Problem

Row = TypeVar("Row", bound=Model)  # with `created_at`

ROW_ID = re.compile("[0-9a-z]{1,10}")
POSITION = ("after", "limit")  # fields of a query that select no rows


def page(rows: QuerySet[Row], query: Fields, *, after: str | None, limit: int) -> tuple[list[Row], str | None]:
    """At most `limit` rows, newest first, and the cursor of the next page; None if this one is the last."""
    filters = _filters(query)
    if after:
        rows = rows.filter(_beyond(after, filters, rows.model))
    found = list(rows.order_by("-created_at", "-pk")[: limit + 1])
    shown = found[:limit]
    return shown, _cursor(shown[-1], filters) if len(found) > limit else None


def _cursor(last: Model, filters: str) -> str:
    created: datetime = getattr(last, "created_at")  # noqa: B009
    text = json.dumps([filters, created.isoformat(), str(last.pk)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _beyond(cursor: str, filters: str, model: type[Model]) -> Q:
    try:
        made_with, time, pk = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        at = datetime.fromisoformat(time)
        if at.tzinfo is None or not ROW_ID.fullmatch(pk):
            raise ValueError(pk)
        key = model._meta.pk.to_python(pk)
    except (ValueError, TypeError, RecursionError, ValidationError):
        raise Problem(
            400, f"after is {cursor[:60]!r}, which is not a cursor", "Send the `next` of the previous page."
        ) from None
    if made_with != filters:
        raise Problem(
            400,
            "The cursor in after was made with other filters",
            "Send it with the filters of the page that it came with.",
        )
    return Q(created_at__lt=at) | Q(created_at=at, pk__lt=key)


def _filters(query: Fields) -> str:
    chosen = query.model_dump(mode="json", exclude=set(POSITION))
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:12]
