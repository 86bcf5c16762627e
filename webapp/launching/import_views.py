"""The form that imports rollouts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.events import Split
from engine.foreign.run_directory import Report, Source
from webapp.launching.importing import MOST_FILES, MOST_MEGABYTES, import_run
from webapp.members.choices import project_for_new

SPLITS: dict[str, Split | None] = {"": None, "train": "train", "validation": "validation"}
ERRORS_SHOWN = 20


@require_http_methods(["GET", "HEAD", "POST"])
def import_form(request: HttpRequest) -> HttpResponse:
    """GET shows the form. POST imports the files and redirects to the new run, or shows why no line could be read."""
    project = project_for_new(request.user, request.POST.get("project", ""))
    if request.method != "POST":
        return _form(request)
    files = request.FILES.getlist("file")
    if problem := _problem(files):
        return _form(request, problem=problem)
    run, report = import_run(
        [Source(name=file.name or "file", lines=file) for file in files],
        origin=", ".join(file.name or "file" for file in files),
        name=request.POST.get("name", ""),
        owner=request.user,
        project=project,
        split=SPLITS.get(request.POST.get("split", "")),
    )
    if run is None:
        return _form(request, problem="The files contain no rollouts, so no run was created.", report=report)
    if report.failed:
        messages.warning(request, f"{report.failed} lines could not be read. They are listed in the import log below.")
    return redirect("runs:detail", run.pk)


def _problem(files: list[UploadedFile[bytes]]) -> str:
    if not files:
        return "Choose at least one file."
    if len(files) > MOST_FILES:
        return f"{len(files)} files selected; the limit is {MOST_FILES}. Concatenate some of them."
    size = sum(file.size or 0 for file in files)
    if size > MOST_MEGABYTES * 1_000_000:
        return (
            f"The files have {size / 1_000_000:.0f} MB; the limit of this form is {MOST_MEGABYTES} MB. "
            "Use `python manage.py import_rollouts`, which has no limit."
        )
    return ""


def _form(request: HttpRequest, *, problem: str = "", report: Report | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "problem": problem,
        "errors": report.errors[:ERRORS_SHOWN] if report else [],
        "failed": report.failed if report else 0,
        "name": request.POST.get("name", "")[:80],
        "most_megabytes": MOST_MEGABYTES,
        "most_files": MOST_FILES,
    }
    return render(request, "launching/import.html", context, status=422 if problem else 200)
