"""Static files by servestatic, whose middleware is asynchronous, without a change of thread for other requests."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import async_to_sync
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware


class StaticFilesMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.files = ServeStaticMiddleware(_no_file)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        found = None
        if request.path_info.startswith(self.files.static_prefix):
            found = async_to_sync(self.files.__call__)(request)
        return self.get_response(request) if found is None else found


async def _no_file(request: HttpRequest) -> None:
    """What servestatic calls if the path is that of no file."""
