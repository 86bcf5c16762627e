"""Records from where sessions are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse

from webapp.security.client_address import client_address
from webapp.user_sessions.store import SessionStore


class SessionUseMiddleware:
    """Follows the middleware that reads the session."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        session = cast(SessionStore, request.session)
        session.used_from(client_address(request), request.headers.get("User-Agent", ""))
        response = self.get_response(request)
        session.record_use()
        return response
