"""Requires a sign-in for every view that does not opt out. The API answers 401 instead of redirecting."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponseBase, JsonResponse


class SignedInByDefaultMiddleware(LoginRequiredMiddleware):
    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseBase:  # type: ignore[override]
        if request.path.startswith("/api/"):
            return JsonResponse(
                {
                    "error": "Not signed in",
                    "remedy": "Send a personal token as `Authorization: Bearer sb_…`, or the cookie of a sign-in.",
                },
                status=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
        return super().handle_no_permission(request, view_func)
