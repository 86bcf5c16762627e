"""The form that uploads rollouts, and the page of their import."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.jobs import Refused
from webapp.launching import uploads
from webapp.launching.models import RolloutImport
from webapp.launching.uploads import MOST_FILES, MOST_MEGABYTES, NoRoom, Upload
from webapp.members.choices import project_for_new
from webapp.projects.access import fetch, readable
from webapp.projects.models import Role

EARLIER = 10
ERRORS_SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
def import_form(request: HttpRequest) -> HttpResponse:
    """GET shows the form. POST stores the files for a worker and redirects to the page of their import."""
    project = project_for_new(request.user, request.POST.get("project", ""))
    if request.method != "POST":
        return _form(request)
    files = [Upload(name=file.name or "file", parts=file.chunks()) for file in request.FILES.getlist("file")]
    name, split = request.POST.get("name", ""), request.POST.get("split", "")
    try:
        made = uploads.accept(files, request.user, project=project, name=name, split=split)
    except NoRoom as refused:
        return _form(request, problem=str(refused), status=507)
    except Refused as refused:
        return _form(request, problem=str(refused), status=422)
    return redirect("imports:detail", made.pk)


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "launching/import_page.html", _context(_import(pk)))


@require_safe
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The parts of the page that change."""
    return render(request, "launching/_import_refreshed.html", _context(_import(pk)))


@require_POST
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    found = _import(pk, needs=Role.EDITOR)
    if not uploads.stop(found, request.user):
        messages.warning(request, "There is nothing to stop: the import has ended.")
    return redirect("imports:detail", found.pk)


def _import(pk: int, needs: Role = Role.VIEWER) -> RolloutImport:
    return fetch(RolloutImport.objects.select_related("owner", "run"), needs=needs, pk=pk)


def _context(found: RolloutImport) -> dict[str, Any]:
    return {
        "import": found,
        "errors": found.errors[:ERRORS_SHOWN],
        "more_errors": max(0, found.rejected - ERRORS_SHOWN),
        "done": found.read + found.written,
        "work": found.lines + max(found.written, found.lines - found.rejected),
    }


def _form(request: HttpRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "problem": problem,
        "name": request.POST.get("name", "")[:80],
        "most_megabytes": MOST_MEGABYTES,
        "most_files": MOST_FILES,
        "earlier": readable(RolloutImport.objects.select_related("run"))[:EARLIER],
    }
    return render(request, "launching/import.html", context, status=status)
