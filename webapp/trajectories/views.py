"""Pages of trajectories: the list of a run or of all, the reader, and the record as JSON."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engine.errors import RunDirectoryError
from webapp.projects.access import fetch
from webapp.trajectories import services
from webapp.trajectories.captured import describe_retention
from webapp.trajectories.comparison import compare_page, over_time, read_ids
from webapp.trajectories.listing import counts_of_list, list_page
from webapp.trajectories.losses import lost_members
from webapp.trajectories.models import Trajectory
from webapp.trajectories.scope import scope_of
from webapp.trajectories.split_comparison import of_step_of


@require_safe
def trajectory_list(request: HttpRequest, run_id: str = "") -> HttpResponse:
    return render(request, "trajectories/list.html", list_page(scope_of(run_id), request.GET))


@require_safe
def trajectory_counts(request: HttpRequest, run_id: str = "") -> HttpResponse:
    """The parts of a long list that count what its filters match."""
    return render(request, "trajectories/counts.html", counts_of_list(scope_of(run_id), request.GET))


@require_safe
def trajectory_compare(request: HttpRequest, run_id: str = "") -> HttpResponse:
    """Compares `ids` with the first of them; `best=1` adds optimal play."""
    ids, best = read_ids(request.GET.getlist("ids")), request.GET.get("best") == "1"
    context = compare_page(scope_of(run_id), ids, best=best, start=request.GET.get("from", ""))
    return render(request, "trajectories/compare.html", context)


@require_safe
def trajectory_detail(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    trajectory = _trajectory(run_id, pk)
    if trajectory.removed:
        about = {"run": trajectory.run, "trajectory": trajectory, "retention": describe_retention(trajectory.run)}
        return render(request, "trajectories/removed.html", about, status=410)
    before, after = services.neighbours(trajectory)
    return render(
        request,
        "trajectories/reader.html",
        {
            "run": trajectory.run,
            "trajectory": trajectory,
            "members": services.group_of(trajectory),
            "lost": lost_members(trajectory),
            "over_time": over_time(trajectory),
            "split_comparison": of_step_of(trajectory),
            "before": before,
            "after": after,
        },
    )


@require_safe
def trajectory_data(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    """The record as its file has it. `?download=1` offers it as a download."""
    trajectory = _trajectory(run_id, pk)
    try:
        text = services.checked_text(trajectory)
    except RunDirectoryError as error:
        problem = {"message": error.message, "remedy": error.remedy, "file": trajectory.file}
        return JsonResponse({"error": problem}, status=410)
    response = HttpResponse(text, content_type="application/json")
    if request.GET.get("download") == "1":
        name = f"{run_id}-{trajectory.split}-{trajectory.step}-{trajectory.group}-{trajectory.member}.json"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _trajectory(run_id: str, pk: int) -> Trajectory:
    return fetch(Trajectory.all_attempts.select_related("run"), pk=pk, run_id=run_id)
