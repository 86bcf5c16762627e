"""Signing in is required everywhere unless a view says otherwise; programs are told so instead of being redirected."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponseBase, JsonResponse


class SignedInByDefaultMiddleware(LoginRequiredMiddleware):
    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseBase:  # type: ignore[override]
        if request.path.startswith("/api/"):
            return JsonResponse(
                {"error": "Not signed in", "remedy": "Send the session cookie of a sign-in."}, status=401
            )
        return super().handle_no_permission(request, view_func)
