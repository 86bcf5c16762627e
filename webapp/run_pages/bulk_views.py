"""Actions on the runs that are ticked in the list."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.views.decorators.http import require_POST

from webapp.projects.access import readable, require
from webapp.projects.models import Role
from webapp.run_pages.arrangement import PAGE
from webapp.run_pages.removal import Removal, delete, removals
from webapp.runs import services
from webapp.runs.labels import add_tags, label, parse_tags, remove_tags
from webapp.runs.models import Run

MOST = 500  # runs of one request
ACTIONS = {
    "stop": services.request_stop,
    "archive": services.archive,
    "unarchive": services.unarchive,
}
DONE = {
    "stop": "Requested a stop of",
    "archive": "Archived",
    "unarchive": "Restored",
    "tag": "Tagged",
    "untag": "Removed the tags from",
    "project": "Changed the project of",
}
REDIRECTS = {"compare": "/compare/?runs=", "trajectories": "/trajectories/?run="}  # followed by the IDs of runs


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """One action on all ticked runs. Deleting shows first what it frees, and needs a second request."""
    given = (pk for text in request.POST.getlist("run") for pk in text.split(","))
    ids = list(dict.fromkeys(pk for pk in given if pk.isalnum()))[:MOST]  # a NUL is no character for PostgreSQL
    action = request.POST.get("action", "")
    if not ids:
        messages.warning(request, "Select at least one run.")
        return _back(request)
    if action in REDIRECTS:
        return redirect(REDIRECTS[action] + ",".join(ids[:PAGE]))
    if action not in (*DONE, "delete"):
        return HttpResponse(f"Unknown action {action[:40]!r}.", status=400, content_type="text/plain")
    runs = list(readable(Run.objects.filter(pk__in=ids)).order_by("-created_at"))
    for run in runs:
        require(run, Role.ADMIN if action == "delete" else Role.EDITOR)
    if action == "delete":
        return _delete(request, runs)
    if action in ("tag", "untag") and not _tags(request):
        messages.warning(request, "Enter one or more tags, separated by commas.")
        return _back(request)
    with transaction.atomic() if action == "project" else nullcontext():  # if one may not be moved, none is
        done = [run for run in runs if _act(request, action, run)]
    messages.info(request, f"{DONE[action]} {_count(len(done), len(runs))}.{_kept(action, done)}")
    return _back(request)


def _act(request: HttpRequest, action: str, run: Run) -> bool:
    user: Any = request.user
    match action:
        case "tag":
            return add_tags(run, _tags(request), user)
        case "untag":
            return remove_tags(run, _tags(request), user)
        case "project":
            return label(run, user, project=request.POST.get("project", ""))
        case _:
            return ACTIONS[action](run, user)


def _tags(request: HttpRequest) -> list[str]:
    return parse_tags(request.POST.get("tags", ""))


def _delete(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    found = removals(runs)
    possible = [one for one in found if not one.refusal]
    if request.POST.get("confirmed") == "1" and possible:
        return _delete_now(request, possible)
    context = {
        "removals": found,
        "possible": possible,
        "freed": sum(one.freed for one in possible),
        "back": request.POST.get("back", ""),
    }
    return render(request, "run_pages/delete.html", context)


def _delete_now(request: HttpRequest, possible: list[Removal]) -> HttpResponse:
    user: Any = request.user
    deletions = [delete(one.run, user) for one in possible]
    done = [one for one in deletions if one.done]
    freed = filesizeformat(sum(one.freed for one in done))
    messages.info(request, f"Deleted {_count(len(done), len(possible))} and freed {freed}.")
    for one in deletions:
        if one.problem:
            messages.warning(request, one.problem)
    return _back(request)


def _kept(action: str, runs: list[Run]) -> str:
    """What archiving does not free."""
    if action != "archive" or not runs:
        return ""
    held = filesizeformat(sum(one.freed for one in removals(runs)))
    return f" Their files stay: deleting them would free {held}."


def _count(done: int, total: int) -> str:
    return f"{done} run{'' if done == 1 else 's'}" if done == total else f"{done} of {total} runs"


def _back(request: HttpRequest) -> HttpResponse:
    """To the list as it was shown."""
    query = QueryDict(request.POST.get("back", "")).urlencode()
    return redirect(f"{reverse('runs:list')}{f'?{query}' if query else ''}")
