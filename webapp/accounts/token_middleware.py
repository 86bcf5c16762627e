"""Signs a request to the API in by its personal token, `Authorization: Bearer sb_…`.

A request with the header is judged by that alone: a browser's cookie does not help a token that is refused. Other sites
cannot make a browser send the header, so such a request needs no CSRF token. Requests without it stay as they are: with
a cookie, and for POST with a CSRF token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse, JsonResponse

from webapp.accounts.models import PersonalToken
from webapp.accounts.tokens import NEW_ONE, Refused, check_token

SCHEME = "bearer"


class TokenMiddleware:
    """Follows the middleware that reads the session, and precedes the one that requires a sign-in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        header = request.headers.get("Authorization")
        if header is None or not request.path.startswith("/api/"):
            return self.get_response(request)
        found = _token(header)
        if isinstance(found, Refused):
            return JsonResponse(
                {"error": found.error, "remedy": found.remedy}, status=401, headers={"WWW-Authenticate": "Bearer"}
            )
        request.user = found.user
        found.user.token_name = found.name  # type: ignore[attr-defined]  # for the audit log
        request.personal_token = found  # type: ignore[attr-defined]
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        return self.get_response(request)


def token_of(request: HttpRequest) -> PersonalToken | None:
    """The token that the request was signed in with; None for a browser's session."""
    return cast("PersonalToken | None", getattr(request, "personal_token", None))


def _token(header: str) -> PersonalToken | Refused:
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != SCHEME:
        return Refused(
            error=f"The Authorization header has the scheme {scheme[:20]!r}; allowed is Bearer", remedy=NEW_ONE
        )
    return check_token(token.strip())
