"""The curves that a comparison asks for first, as addresses: a browser that is told them need not load scripts to ask.

`static/js/compare/compared_runs.js` asks for these again; another address would be asked for beside it.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote

from django.urls import reverse

from webapp.runs.models import Run

SHORT = 2000  # steps of a run that is sent whole
BUCKETS, FEWER_BUCKETS = 600, 300  # of a longer one
FEW = 4  # runs; of more, each is drawn with fewer
AS_IN_A_SCRIPT = "!~*'()"  # what `encodeURIComponent` leaves as it is


def first_curves(runs: list[Run], metrics: list[str], hidden: Collection[str]) -> list[str]:
    """Of the runs that are over and not `hidden`; one that lives is asked after its outline."""
    keys = ",".join(quote(metric, safe=AS_IN_A_SCRIPT) for metric in metrics)
    thinned = FEWER_BUCKETS if len(runs) > FEW else BUCKETS
    return [
        f"{reverse('api:bands', args=[run.pk])}?keys={keys}&buckets={thinned if run.step > SHORT else SHORT}"
        for run in runs
        if run.is_terminal and run.pk not in hidden
    ]
