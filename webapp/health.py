"""The health check: whether the site and its database answer, within two seconds also if the database is frozen."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

SECONDS = 2.0

_executor = ThreadPoolExecutor(1, thread_name_prefix="healthz")
_asking: Future[None] | None = None


@login_not_required
@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """Status 200 if the database answers. Public, so it reveals nothing else."""
    try:
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(_question())), SECONDS)
    except TimeoutError:
        return JsonResponse({"status": f"database has not answered for {SECONDS:g} seconds"}, status=503)
    except DatabaseError:
        return JsonResponse({"status": "database unavailable"}, status=503)
    return JsonResponse({"status": "ok"})


def _question() -> Future[None]:
    """The one that is asked at the moment, if any: a frozen database must not hold a thread for each check."""
    global _asking
    if _asking is None or _asking.done():
        _asking = _executor.submit(_ask_database)
    return _asking


def _ask_database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()
