"""Downloads of trajectories as chat messages: all that match the filters, the selected ones, or one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_safe

from engine.errors import RunDirectoryError
from webapp.projects.access import fetch
from webapp.streamed import streamed
from webapp.trajectories import chat, services
from webapp.trajectories.filters import read_filters
from webapp.trajectories.models import Trajectory
from webapp.trajectories.scope import scope_of

JSON_LINES = "application/x-ndjson"
MOST_SELECTED = 500


@require_safe
def export(request: HttpRequest, run_id: str = "") -> HttpResponseBase:
    """The selected ones (`ids`), or all that match the filters, oldest step first; at most `MOST_EXPORTED`."""
    rows = scope_of(run_id).rows()
    selected = [int(text) for text in request.GET.getlist("ids")[:MOST_SELECTED] if _is_key(text)]
    rows = rows.filter(pk__in=selected) if selected else read_filters(request.GET, run_id=run_id).apply(rows)
    ordered = rows.order_by("run", "step", "split", "environment", "group", "member")
    keys = list(ordered.values_list("pk", flat=True)[: chat.MOST_EXPORTED])
    name = f"{run_id or 'trajectories'}-chat.jsonl"
    return streamed(request, chat.lines_of(keys), name=name, content_type=JSON_LINES)


@require_safe
def export_one(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    trajectory = fetch(Trajectory.all_attempts.select_related("run"), pk=pk, run_id=run_id)
    try:
        line = chat.line_of(trajectory, services.record(trajectory))
    except RunDirectoryError as error:
        return JsonResponse({"error": {"message": error.message, "remedy": error.remedy}}, status=410)
    answer = HttpResponse(line, content_type=JSON_LINES)
    answer["Content-Disposition"] = f'attachment; filename="{run_id}-{trajectory.pk}-chat.jsonl"'
    return answer


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
