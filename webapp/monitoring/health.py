"""The health check: whether the site and its database answer, within two seconds also if the database is frozen."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from webapp.monitoring.questions import PUBLIC_SECONDS, SECONDS, Question, ask_database

_database = Question("healthz", ask_database, repeated_seconds=PUBLIC_SECONDS)


@login_not_required
@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """Status 200 if the database answers. Public, so it reveals nothing else."""
    try:
        await _database.answer()
    except TimeoutError:
        return JsonResponse({"status": f"database has not answered for {SECONDS:g} seconds"}, status=503)
    except DatabaseError:
        return JsonResponse({"status": "database unavailable"}, status=503)
    return JsonResponse({"status": "ok"})
