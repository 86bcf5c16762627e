"""What a refused or failed request gets to see: what happened and what to do, never a stack. JSON under `/api/`."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 400, "This request cannot be read", "Go back and try again from the page it came from.")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 403, "This is not allowed", "You are signed in, but this is not yours to see or change.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    remedy = "The page was open for too long, or cookies are off. Load the page again and repeat what you did."
    return _page(request, 403, "This form is out of date", remedy)


def page_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 404, "There is nothing here", "Check the address, or start from the list of runs.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Without the request's context: whatever failed might fail again while the page is drawn."""
    reference = uuid.uuid4().hex[:8]
    title, remedy = "Something failed in Starboard", f"The log has the details. Reference: {reference}"
    if request.path.startswith("/api/"):
        return JsonResponse({"error": title, "remedy": remedy}, status=500)
    context = {"status": 500, "heading": title, "remedy": remedy}
    return SimpleTemplateResponse("error_plain.html", context, status=500).render()


def _page(request: HttpRequest, status: int, heading: str, remedy: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"error": heading, "remedy": remedy}, status=status)
    return render(request, "error.html", {"status": status, "heading": heading, "remedy": remedy}, status=status)
