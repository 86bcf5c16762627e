"""Facets and counts of the trajectories of all runs, which may be millions: nothing here reads all of them."""

from __future__ import annotations

from typing import Literal

from django.db import connection
from django.db.models import Max, Min, QuerySet

from webapp.projects.access import access_of, readable
from webapp.projects.reader import reader
from webapp.runs.models import Alert
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory
from webapp.trajectories.services import Counts, Facets

COUNTED = 100_000  # rows that a page counts at most
MOST_NAMES = 200

# A loose index scan: one index look-up per distinct name.
_NAMES = """
WITH RECURSIVE named(name) AS (
    SELECT MIN({column}) FROM trajectories_trajectory
    UNION ALL
    SELECT (SELECT MIN({column}) FROM trajectories_trajectory WHERE {column} > named.name)
    FROM named WHERE named.name IS NOT NULL
)
SELECT name FROM named WHERE name IS NOT NULL LIMIT %s
"""


def facets() -> Facets:
    """Names without counts; `total` is at most `COUNTED`."""
    rows = readable(Trajectory.objects.order_by())
    total = rows.values("pk")[: COUNTED + 1].count()
    fired = readable(Alert.objects.all()).order_by("rule").values_list("rule", flat=True).distinct()
    return Facets(
        total=min(total, COUNTED),
        more=total > COUNTED,
        counted=False,
        # separately, since an index answers each with one look-up
        first_step=rows.aggregate(low=Min("step"))["low"] or 0,
        last_step=rows.aggregate(high=Max("step"))["high"] or 0,
        environments=dict.fromkeys(_names("environment"), 0),
        splits={"train": 0, "validation": 0},
        stops=dict.fromkeys(_names("stop"), 0),
        rules=dict.fromkeys(fired[:MOST_NAMES], 0),
    )


def counts(rows: QuerySet[Trajectory]) -> Counts:
    """No summaries for more than `COUNTED` rows: shares of a part of them would mislead."""
    some = Trajectory.all_attempts.filter(pk__in=rows.order_by().values("pk")[: COUNTED + 1])
    found = services.counts(some)
    return found if found.total <= COUNTED else Counts(total=COUNTED, more=True, summaries=[])


def _names(column: Literal["environment", "stop"]) -> list[str]:
    if not access_of(reader()).everything:
        some = readable(Trajectory.objects.all())
        return list(some.order_by(column).values_list(column, flat=True).distinct()[:MOST_NAMES])
    with connection.cursor() as cursor:
        cursor.execute(_NAMES.format(column=column), [MOST_NAMES])
        return [name for (name,) in cursor.fetchall()]
