"""Pages of trajectories: a run's list, the reader, and the record as JSON."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from engine.errors import RunDirectoryError
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.captured import retention_in_words
from webapp.trajectories.filters import KEPT, SPLITS, Filters, read_filters
from webapp.trajectories.models import Trajectory
from webapp.trajectories.paging import SORTS, page_of


@require_safe
def trajectory_list(request: HttpRequest, run_id: str) -> HttpResponse:
    run = get_object_or_404(Run, pk=run_id)
    filters = read_filters(request.GET)
    sort = SORTS.get(request.GET.get("sort", ""), SORTS["newest"])
    rows = filters.apply(Trajectory.objects.filter(run=run))
    page = page_of(rows, sort, after=request.GET.get("after", ""), before=request.GET.get("before", ""))
    return render(
        request,
        "trajectories/list.html",
        {
            "run": run,
            "filters": filters,
            "facets": services.facets(run),
            "counts": services.counts(rows),
            "page": page,
            "links": _links(filters, sort.name, page.before, page.after),
            "sort": sort.name,
            "sorts": SORTS.values(),
            "splits": SPLITS,
            "kept_choices": KEPT,
        },
    )


@require_safe
def trajectory_detail(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    trajectory = _trajectory(run_id, pk)
    if trajectory.removed:
        about = {"run": trajectory.run, "trajectory": trajectory, "retention": retention_in_words(trajectory.run)}
        return render(request, "trajectories/removed.html", about, status=410)
    before, after = services.neighbours(trajectory)
    return render(
        request,
        "trajectories/reader.html",
        {
            "run": trajectory.run,
            "trajectory": trajectory,
            "members": services.group_of(trajectory),
            "before": before,
            "after": after,
        },
    )


@require_safe
def trajectory_data(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    """The record as it lies in its shard. `?download=1` offers it as a file."""
    trajectory = _trajectory(run_id, pk)
    try:
        found = services.record(trajectory)
    except RunDirectoryError as error:
        problem = {"message": error.message, "remedy": error.remedy, "shard": trajectory.shard}
        return JsonResponse({"error": problem}, status=410)
    response = JsonResponse(found)
    if request.GET.get("download") == "1":
        name = f"{run_id}-{trajectory.split}-{trajectory.step}-{trajectory.group}-{trajectory.member}.json"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _trajectory(run_id: str, pk: int) -> Trajectory:
    return get_object_or_404(Trajectory.objects.select_related("run"), pk=pk, run_id=run_id)


def _links(filters: Filters, sort: str, before: str, after: str) -> dict[str, Any]:
    """Query strings of the pages around this one."""
    ordered = "" if sort == "newest" else sort
    return {
        "first": filters.query(sort=ordered),
        "before": filters.query(sort=ordered, before=before) if before else "",
        "after": filters.query(sort=ordered, after=after) if after else "",
    }
