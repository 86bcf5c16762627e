"""URLs of the curves that a comparison loads first, for `<link rel="preload">`.

`static/js/compare/compared_runs.js` must request exactly the same URLs, or the browser loads both.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote

from django.urls import reverse

from webapp.runs.models import Run

SHORT = 2000  # steps; shorter runs are sent without aggregation
BUCKETS, FEWER_BUCKETS = 600, 300  # for longer runs
FEW = 4  # with more runs, each has fewer buckets
AS_IN_A_SCRIPT = "!~*'()"  # what `encodeURIComponent` leaves as it is


def first_curves(runs: list[Run], metrics: list[str], hidden: Collection[str]) -> list[str]:
    """URLs for the ended runs that are not `hidden`, as those drawn as a group are; a live run is requested after its
    outline."""
    keys = ",".join(quote(metric, safe=AS_IN_A_SCRIPT) for metric in metrics)
    thinned = FEWER_BUCKETS if len(runs) > FEW else BUCKETS
    return [
        f"{reverse('api:bands', args=[run.pk])}?keys={keys}&buckets={thinned if run.step > SHORT else SHORT}"
        for run in runs
        if run.is_terminal and run.pk not in hidden
    ]
