"""Static files, found by servestatic and read at once.

Servestatic's own middleware is asynchronous and hands 8 KB at a time from a thread to the event loop. While other
threads compute, each of those hand-overs waits for the interpreter: more than a hundred for one script of charts.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile


class StaticFilesMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.files = ServeStaticMiddleware(_not_called)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        found = self._find(request.path_info)
        return self.get_response(request) if found is None else _response(found, request)

    def _find(self, path: str) -> StaticFile | Redirect | None:
        if not path.startswith(self.files.static_prefix):
            return None
        return self.files.find_file(path) if self.files.autorefresh else self.files.files.get(path)


def _response(found: StaticFile | Redirect, request: HttpRequest) -> HttpResponse:
    """The headers are servestatic's alone; of a partial request the file is that part."""
    answer = found.get_response(request.method or "GET", request.META)
    content = b""
    if answer.file is not None:
        with answer.file as file:
            content = file.read()
    response = HttpResponse(content, status=int(answer.status))
    del response["Content-Type"]
    for name, value in answer.headers:
        if value is not None:
            response[name] = value
    return response


async def _not_called(request: HttpRequest) -> HttpResponseBase:
    """Servestatic's middleware accepts asynchronous applications only."""
    raise NotImplementedError
