"""URLs under /api/v1/, one for each path of the endpoints. Those of a row work with and without a trailing
slash."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from django.urls import URLPattern, path, re_path

from webapp.api.catalogue import ENDPOINTS
from webapp.api.dispatch import PathView
from webapp.api.endpoints import PART, Endpoint
from webapp.api.path_rows import PATH_ROWS
from webapp.api.views import openapi_document

app_name = "api"


def _pattern(endpoints: list[Endpoint]) -> URLPattern:
    one = endpoints[0]
    view = PathView(endpoints)
    if not one.rows:
        return path(PART.sub(r"<int:\1>", one.path), view, name=one.route)
    end = "$" if one.path.endswith("/") else "/?$"
    named = one.path
    for name in one.rows:
        named = named.replace(f"{{{name}}}", f"(?P<{name}>{PATH_ROWS[name].pattern})")
    return re_path(f"^{named}{end}", view, name=one.route)


urlpatterns = [
    path("openapi.json", openapi_document, name="openapi"),
    *(
        _pattern(list(endpoints))
        for _, endpoints in groupby(sorted(ENDPOINTS, key=attrgetter("path")), key=attrgetter("path"))
    ),
]
