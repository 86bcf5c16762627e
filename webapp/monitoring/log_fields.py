"""Binds the request, its user and its run to the log lines of a request or socket."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from webapp.logs import bind, bound

HEADER = b"x-request-id"
PLAIN = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class RequestIds:
    """ASGI middleware. The id of a proxy is kept if it is plain, so that its log and ours agree."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        given = next((value for name, value in scope.get("headers", []) if name == HEADER), b"")
        request_id = given if PLAIN.fullmatch(given) else secrets.token_hex(8).encode()

        async def named_send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), (HEADER, request_id)]}
            await send(message)

        with bound(request_id=request_id.decode()):
            await self.inner(scope, receive, named_send)


class UserAndRunMiddleware:
    """Follows the middleware that signs users in, which has read the user by then."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, arguments: Any, named: dict[str, Any]) -> None:
        if getattr(view, "login_required", True) and request.user.is_authenticated:
            bind(user_id=str(request.user.pk))
        if "run_id" in named:
            bind(run_id=str(named["run_id"]))
