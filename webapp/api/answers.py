"""Shared by the views of the API: allowed methods, errors as JSON, and the summary of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from webapp.queries import BadQuery
from webapp.runs.models import Run
from webapp.runs.priorities import priority_name

View = Callable[..., HttpResponse]


def api(*methods: str) -> Callable[[View], View]:
    """Allows only these methods, and answers an invalid query with status 400 and the allowed values."""

    def wrap(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method not in methods:
                refused = problem(405, f"Method {request.method} is not allowed", f"Use {' or '.join(methods)}.")
                refused["Allow"] = ", ".join(methods)
                return refused
            try:
                return view(request, *args, **kwargs)
            except BadQuery as error:
                return problem(400, "Invalid query", str(error))

        return answer

    return wrap


def problem(status: int, error: str, remedy: str) -> JsonResponse:
    return JsonResponse({"error": error, "remedy": remedy}, status=status)


def run_summary(run: Run) -> dict[str, Any]:
    """The run's live state and the columns that never change."""
    return {
        **run.live_state(),
        "project": run.project,
        "tags": [tag.name for tag in run.tags.all()],
        "notes": run.notes,
        "preset": run.preset,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "archived_at": run.archived_at.isoformat() if run.archived_at else None,
        "cloned_from": run.cloned_from_id,
        "forked_from": run.forked_from_id,
        "fork_step": run.fork_step,
        "lineage_step": run.lineage_step,
        "colour": run.colour,
        "priority": priority_name(run.priority),
    }
