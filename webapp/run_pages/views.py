"""The page of a run, and the actions on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST, require_safe

from webapp.projects.access import fetch, readable
from webapp.projects.models import Role
from webapp.run_pages.config_differences import comparisons
from webapp.run_pages.imported import imported_page
from webapp.run_pages.log_tail import chunks, open_log, tail
from webapp.run_pages.page_data import latest_trajectories, run_page
from webapp.run_pages.snapshot import run_snapshot
from webapp.runs import queue, services
from webapp.runs.config_file import as_toml
from webapp.runs.ingesting import is_elsewhere, reported_config
from webapp.runs.labels import label, parse_tags
from webapp.runs.models import DeletedRun, Run
from webapp.runs.quotas import QuotaExceeded
from webapp.runs.states import RunState
from webapp.streamed import streamed
from webapp.whole_numbers import whole_number

LOG = "engine.log"
ACTIONS: dict[str, Callable[[Run, Any], bool]] = {
    "stop": services.request_stop,
    "pause": services.request_pause,
    "resume": services.request_resume,
    "checkpoint": services.request_checkpoint,
    "archive": services.archive,
    "start_over": services.request_start_over,
    "unarchive": services.unarchive,
    "queue_up": partial(queue.reorder, direction="up"),
    "queue_down": partial(queue.reorder, direction="down"),
    "queue_first": partial(queue.reorder, direction="first"),
}


@require_safe
def detail(request: HttpRequest, run_id: str) -> HttpResponse:
    run = readable(Run.objects.select_related("environment_version__definition", "owner")).filter(pk=run_id).first()
    if run is None:
        deleted = fetch(DeletedRun, pk=run_id)
        return render(request, "run_pages/deleted.html", {"run": deleted}, status=410)
    if run.imported_from and not is_elsewhere(run):
        return imported_page(request, run)
    return render(request, "run_pages/detail.html", run_page(run))


@require_safe
def latest(request: HttpRequest, run_id: str) -> HttpResponse:
    """Only the newest trajectories, for a page that received an update."""
    run = fetch(Run, pk=run_id)
    return render(request, "run_pages/_latest.html", {"run": run, "latest": latest_trajectories(run)})


@require_POST
def control(request: HttpRequest, run_id: str) -> HttpResponse:
    """One action on a run. Scripts receive JSON, forms are redirected to the page."""
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)
    action = request.POST.get("action", "")
    if action == "rename":
        done = services.rename(run, request.POST.get("name", ""), _user(request))
        problem = "" if done else "The name must not be empty."
    elif action == "queue_to":
        position = whole_number(request.POST.get("position", ""))
        done = position is not None and queue.reorder(run, _user(request), position)
        problem = "" if done else _refusal(run, action)
    elif action in ACTIONS:
        try:
            done = ACTIONS[action](run, _user(request))
            problem = "" if done else _refusal(run, action)
        except QuotaExceeded as error:
            done, problem = False, str(error)
    else:
        allowed = ", ".join([*ACTIONS, "queue_to", "rename"])
        return JsonResponse({"error": f"Unknown action {action[:40]!r}. Use one of: {allowed}."}, status=400)
    run.refresh_from_db()
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"error": problem, "state": run_snapshot(run)}, status=200 if done else 409)
    if problem:
        messages.warning(request, problem)
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return redirect(target) if safe else redirect("runs:detail", run.pk)


def _refusal(run: Run, action: str) -> str:
    state = run.get_state_display().lower()
    if not action.startswith("queue_"):
        return f"Cannot {action} a run that is {state}."
    if run.state == RunState.QUEUED:
        return f"{run.name} is already there in the queue."
    return f"Only queued runs can be moved in the queue; {run.name} is {state}."


@require_POST
def change_labels(request: HttpRequest, run_id: str) -> HttpResponse:
    """Sets the project, tags and notes."""
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)
    given = request.POST
    tags = parse_tags(given["tags"]) if "tags" in given else None
    label(run, _user(request), project=given.get("project"), tags=tags, notes=given.get("notes"))
    return redirect("runs:detail", run.pk)


@require_GET
def log(request: HttpRequest, run_id: str) -> HttpResponse:
    """At most 64 KiB of the engine's log: after or before a byte offset, or else its end."""
    run = fetch(Run, pk=run_id)
    offsets: dict[str, int] = {}
    for name in ("after", "before"):
        if (given := request.GET.get(name, "")) == "":
            continue
        if (offset := whole_number(given)) is None:
            return JsonResponse({"error": f"`{name}` must be a byte offset."}, status=400)
        offsets[name] = offset
    return JsonResponse(asdict(tail(run.directory / LOG, **offsets)))


@require_safe
def download_log(request: HttpRequest, run_id: str) -> HttpResponseBase:
    run = fetch(Run, pk=run_id)
    file = open_log(run.directory / LOG)
    if file is None:
        raise Http404("This run has no log.")
    return streamed(request, chunks(file), name=f"{run.pk}.log", content_type="text/plain; charset=utf-8")


@require_safe
def config_differences(request: HttpRequest, run_id: str) -> HttpResponse:
    """A fragment that is loaded when the tab is opened."""
    run = fetch(Run.objects.select_related("forked_from"), pk=run_id)
    return render(request, "run_pages/_config_differences.html", {"comparisons": comparisons(run, request.user)})


@require_safe
def download_config(request: HttpRequest, run_id: str) -> HttpResponse:
    """As launched, as a file that `engine train` takes; of a run that is trained elsewhere, as it was sent."""
    run = fetch(Run, pk=run_id)
    elsewhere = is_elsewhere(run)
    text, kind = (reported_config(run), "json") if elsewhere else (as_toml(run.parsed_config()), "toml")
    answer = HttpResponse(text, content_type=f"application/{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{run.pk}.{kind}"'
    return answer


def _user(request: HttpRequest) -> Any:
    return request.user
