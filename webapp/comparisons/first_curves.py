"""URLs of the curves that a comparison loads first, for `<link rel="preload">`.

`static/js/compare/batches.js` must request exactly the same URLs, or the browser loads both.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote

from django.urls import reverse

from webapp.comparisons.selection import MOST_RUNS
from webapp.runs.models import Run

SHORT = 2000  # steps; shorter runs are sent without aggregation
BUCKETS, FEWER_BUCKETS = 600, 300  # for longer runs
MOST_VALUES = 1_000_000  # runs times metrics times buckets of one answer
FEW = 4  # with more runs, each has fewer buckets
AS_IN_A_SCRIPT = "!~*'()"  # what `encodeURIComponent` leaves as it is


def first_curves(runs: list[Run], metrics: list[str], hidden: Collection[str]) -> list[str]:
    """URLs for the ended runs that are not `hidden`, as those drawn as a group are, several runs in each; a live run is
    requested after its outline."""
    if not metrics:
        return []
    keys = ",".join(quote(metric, safe=AS_IN_A_SCRIPT) for metric in metrics)
    thinned = FEWER_BUCKETS if len(runs) > FEW else BUCKETS
    asked: dict[int, list[str]] = {}
    for run in runs:
        if run.is_terminal and run.pk not in hidden:
            asked.setdefault(thinned if run.step > SHORT else SHORT, []).append(run.pk)
    return [
        f"{reverse('api:bands_of_runs')}?runs={','.join(part)}&keys={keys}&buckets={buckets}"
        for buckets, ids in asked.items()
        for part in _parts(ids, at_once(len(metrics)))
    ]


def at_once(metrics: int) -> int:
    """How many runs one request has."""
    return max(1, min(MOST_RUNS, MOST_VALUES // (metrics * SHORT)))


def _parts(ids: list[str], size: int) -> list[list[str]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]
