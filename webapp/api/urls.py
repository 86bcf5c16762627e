"""URLs under /api/v1/, one for each path of the endpoints. Those of a run or a sweep work with and without a trailing
slash."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from django.urls import URLPattern, path, re_path

from webapp.api.catalogue import ENDPOINTS
from webapp.api.dispatch import PathView
from webapp.api.endpoints import PART, Endpoint
from webapp.api.views import openapi_document

app_name = "api"
RUN = "(?P<run_id>[0-9a-z]{1,10})"
SWEEP = "(?P<sweep_id>[0-9]{1,9})"


def _pattern(endpoints: list[Endpoint]) -> URLPattern:
    one = endpoints[0]
    view = PathView(endpoints)
    if not (one.takes_run or one.takes_sweep):
        return path(PART.sub(r"<int:\1>", one.path), view, name=one.route)
    end = "$" if one.path.endswith("/") else "/?$"
    named = one.path.replace("{run_id}", RUN).replace("{sweep_id}", SWEEP)
    return re_path(f"^{named}{end}", view, name=one.route)


urlpatterns = [
    path("openapi.json", openapi_document, name="openapi"),
    *(
        _pattern(list(endpoints))
        for _, endpoints in groupby(sorted(ENDPOINTS, key=attrgetter("path")), key=attrgetter("path"))
    ),
]
