"""Opaque cursors: where a page ended, bound to the filters it was made with."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime

from django.db.models import Q, QuerySet

from webapp.api.endpoints import Fields
from webapp.api.problems import Problem
from webapp.runs.models import Run

RUN_ID = re.compile("[0-9a-z]{1,10}")
POSITION = ("after", "limit")  # fields of a query that select no rows


def page(runs: QuerySet[Run], query: Fields, *, after: str | None, limit: int) -> tuple[list[Run], str | None]:
    """At most `limit` runs, newest first, and the cursor of the next page; None if this one is the last."""
    filters = _filters(query)
    if after:
        runs = runs.filter(_beyond(after, filters))
    found = list(runs.order_by("-created_at", "-id")[: limit + 1])
    shown = found[:limit]
    return shown, _cursor(shown[-1], filters) if len(found) > limit else None


def _cursor(last: Run, filters: str) -> str:
    text = json.dumps([filters, last.created_at.isoformat(), last.pk])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _beyond(cursor: str, filters: str) -> Q:
    try:
        made_with, time, pk = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        at = datetime.fromisoformat(time)
        if at.tzinfo is None or not RUN_ID.fullmatch(pk):
            raise ValueError(pk)
    except (ValueError, TypeError, RecursionError):
        raise Problem(
            400, f"after is {cursor[:60]!r}, which is not a cursor", "Send the `next` of the previous page."
        ) from None
    if made_with != filters:
        raise Problem(
            400,
            "The cursor in after was made with other filters",
            "Send it with the filters of the page that it came with.",
        )
    return Q(created_at__lt=at) | Q(created_at=at, id__lt=pk)


def _filters(query: Fields) -> str:
    chosen = query.model_dump(mode="json", exclude=set(POSITION))
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:12]
