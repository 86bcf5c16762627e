"""Error pages: what happened and what to do, never a traceback. JSON under `/api/`."""

from __future__ import annotations

import logging
import sys
import uuid

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse

from webapp.logs import bound_field

log = logging.getLogger(__name__)

OUTAGES = (OperationalError, InterfaceError)  # of the database
RETRY_SECONDS = 5


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 400, "Bad request", "Go back, reload the page and try again.")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """What was refused may say itself why, in `heading` and `remedy`, as a role that is needed does."""
    heading = getattr(exception, "heading", "Access denied")
    remedy = getattr(exception, "remedy", "Your account does not have access to this page.")
    return _page(request, 403, heading, remedy)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    remedy = "The page was open for too long, or cookies are disabled. Reload the page and try again."
    return _page(request, 403, "This form has expired", remedy)


def page_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 404, "Page not found", "Check the URL, or go to the list of runs.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Rendered without the request's context, since whatever failed might fail again."""
    if isinstance(sys.exception(), OUTAGES):
        return _database_unavailable(request)
    reference = bound_field("request_id") or uuid.uuid4().hex[:8]
    log.error("Internal server error, reference %s: %s %s", reference, request.method, request.path)
    remedy = f"The details are in the server's log. Reference: {reference}"
    return _plain_page(request, 500, "Internal server error", remedy)


def _database_unavailable(request: HttpRequest) -> HttpResponse:
    """Status 503 says that nothing was done, and 504 that it may have been: the answer to a commit can get lost."""
    log.warning("The database is not available: %s %s", request.method, request.path)
    if request.method in ("GET", "HEAD"):
        response = _plain_page(request, 503, "The database is not available", "Reload the page in a few seconds.")
    else:
        remedy = "Whether it was done is not known. Look at the page again in a few seconds before you repeat it."
        response = _plain_page(request, 504, "The database did not answer", remedy)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def _plain_page(request: HttpRequest, status: int, heading: str, remedy: str) -> HttpResponse:
    """Without the request's context."""
    if request.path.startswith("/api/"):
        return JsonResponse({"error": heading, "remedy": remedy}, status=status)
    context = {"status": status, "heading": heading, "remedy": remedy}
    return SimpleTemplateResponse("error_plain.html", context, status=status).render()


def _page(request: HttpRequest, status: int, heading: str, remedy: str) -> HttpResponse:
    if request.path.startswith("/api/") or request.headers.get("Accept") == "application/json":
        return JsonResponse({"error": heading, "remedy": remedy}, status=status)
    return render(request, "error.html", {"status": status, "heading": heading, "remedy": remedy}, status=status)
