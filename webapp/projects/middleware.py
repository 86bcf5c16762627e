"""Makes the user of a request its reader."""

from __future__ import annotations

from collections.abc import Callable

from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse

from webapp.projects.reader import set_reader


class ReaderMiddleware:
    """Follows what signs requests in. The reader stays until the request is finished, as a streamed answer reads rows
    after the middleware has returned."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        set_reader(lambda: request.user)
        return self.get_response(request)


def forget(**_: object) -> None:
    set_reader(lambda: None)


request_finished.connect(forget, dispatch_uid="reader")
