"""The list of runs, the page of a run, and the actions on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST, require_safe

from webapp.run_pages.imported import imported_page
from webapp.run_pages.listing import FILTERS, PAGE, find_runs, rows_of
from webapp.run_pages.log_tail import tail
from webapp.run_pages.page_data import latest_trajectories, run_page
from webapp.run_pages.snapshot import run_snapshot
from webapp.runs import services
from webapp.runs.models import Run
from webapp.whole_numbers import whole_number

ACTIONS = {
    "stop": services.request_stop,
    "pause": services.request_pause,
    "resume": services.request_resume,
    "checkpoint": services.request_checkpoint,
    "archive": services.archive,
    "unarchive": services.unarchive,
}
REDIRECTS = {"compare": "/compare/?runs=", "trajectories": "/trajectories/?run="}  # followed by the IDs of runs


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    query = request.GET.dict()
    found = list(find_runs(query)[: PAGE + 1])
    older = _with(request.GET, before=found[PAGE - 1].pk) if len(found) > PAGE else ""
    filters = [
        {"key": key, "label": label, "url": _with(request.GET, show=key, before=None)}
        for key, (label, _) in FILTERS.items()
    ]
    context: dict[str, Any] = {**_table(found[:PAGE]), "older": older, "filters": filters, "query": query}
    context["show"] = query.get("show", "all")
    context["is_new"] = not Run.objects.exists()
    return render(request, "run_pages/list.html", context)


@require_safe
def run_rows(request: HttpRequest) -> HttpResponse:
    """Only the rows of the table, for a page that received an update."""
    return render(request, "run_pages/_rows.html", _table(find_runs(request.GET.dict())[:PAGE]))


def _table(runs: Iterable[Run]) -> dict[str, Any]:
    """The rows, with an owner in each if runs have several."""
    owners = Run.objects.order_by().values("owner").distinct()[:2]
    return {"rows": rows_of(runs), "owners": len(owners) > 1}


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Stops, archives or compares the selected runs, or lists their trajectories."""
    picked = request.POST.getlist("run")[:PAGE]
    action = request.POST.get("action", "")
    if not picked:
        messages.warning(request, "Select at least one run.")
        return redirect("runs:list")
    if action in REDIRECTS:
        return redirect(REDIRECTS[action] + ",".join(picked))
    if action not in ACTIONS:
        return HttpResponse(f"Unknown action {action[:40]!r}.", status=400, content_type="text/plain")
    done = sum(ACTIONS[action](run, _user(request)) for run in Run.objects.filter(pk__in=picked))
    messages.info(request, f"{action.capitalize()}: {done} of {len(picked)} runs.")
    return redirect("runs:list")


@require_safe
def detail(request: HttpRequest, run_id: str) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("environment_version__definition", "owner"), pk=run_id)
    if run.imported_from:
        return imported_page(request, run)
    return render(request, "run_pages/detail.html", run_page(run))


@require_safe
def latest(request: HttpRequest, run_id: str) -> HttpResponse:
    """Only the newest trajectories, for a page that received an update."""
    run = get_object_or_404(Run, pk=run_id)
    return render(request, "run_pages/_latest.html", {"run": run, "latest": latest_trajectories(run)})


@require_POST
def control(request: HttpRequest, run_id: str) -> HttpResponse:
    """One action on a run. Scripts receive JSON, forms are redirected to the page."""
    run = get_object_or_404(Run, pk=run_id)
    action = request.POST.get("action", "")
    if action == "rename":
        done = services.rename(run, request.POST.get("name", ""), _user(request))
        problem = "" if done else "The name must not be empty."
    elif action in ACTIONS:
        done = ACTIONS[action](run, _user(request))
        problem = "" if done else f"Cannot {action} a run that is {run.get_state_display().lower()}."
    else:
        allowed = ", ".join([*ACTIONS, "rename"])
        return JsonResponse({"error": f"Unknown action {action[:40]!r}. Use one of: {allowed}."}, status=400)
    run.refresh_from_db()
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"error": problem, "state": run_snapshot(run)}, status=200 if done else 409)
    if problem:
        messages.warning(request, problem)
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return redirect(target) if safe else redirect("runs:detail", run.pk)


@require_GET
def log(request: HttpRequest, run_id: str) -> HttpResponse:
    """The engine's log from the byte offset `after`; without it, the last 64 KiB."""
    run = get_object_or_404(Run, pk=run_id)
    given = request.GET.get("after", "")
    after = whole_number(given)
    if given and after is None:
        return JsonResponse({"error": "`after` must be a byte offset."}, status=400)
    text, following = tail(run.directory / "engine.log", after)
    return JsonResponse({"text": text, "next": following})


def _with(query: QueryDict, **changes: str | None) -> str:
    """The query string with some parameters replaced."""
    copy = query.copy()
    for key, value in changes.items():
        copy.pop(key, None)
        if value:
            copy[key] = value
    return f"?{copy.urlencode()}" if copy else "?"


def _user(request: HttpRequest) -> Any:
    return request.user
