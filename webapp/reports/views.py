"""The list of reports, the page of one, its editor, its shared link and its exported file."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.idempotency.forms import once
from webapp.members.choices import project_for_new
from webapp.projects.access import can, fetch, readable
from webapp.projects.models import Role
from webapp.projects.reader import reading_as
from webapp.reports import services
from webapp.reports.markdown import KINDS
from webapp.reports.models import LONGEST_TEXT, LONGEST_TITLE, Report
from webapp.reports.rendering import render_report

PAGE = 100
STYLES = ("tokens.css", "run_colours.css", "reports.css")  # of an exported file
ABOUT_KINDS = {
    "chart": "the charts of a comparison",
    "metrics": "last and best values of its charts",
    "settings": "the settings that differ",
    "alerts": "what the alerts of its runs said",
    "problems": "outcomes on the same held-out problems",
    "trajectory": "a trajectory, turn by turn",
}


@require_safe
def report_list(request: HttpRequest) -> HttpResponse:
    found = readable(Report.objects.select_related("owner", "project").defer("text"))
    return render(request, "reports/list.html", {"reports": found[:PAGE], "more": found.count() > PAGE})


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """`block` and `address` in the query begin the text with blocks, whose kinds are separated by commas."""
    project = project_for_new(request.user, request.POST.get("project", ""))
    if request.method == "POST":
        title, text = request.POST.get("title", ""), request.POST.get("text", "")

        def create() -> str:
            made = services.create(request.user, title=title, text=text, project=project)
            return reverse("reports:detail", args=[made.pk])

        try:
            return redirect(once(request, create))
        except services.Refused as refusal:
            return _editor(request, None, title=title, text=text, version=0, problem=str(refusal))
    return _editor(request, None, title="", text=_beginning(request), version=0)


def _beginning(request: HttpRequest) -> str:
    address = request.GET.get("address", "")
    if "\n" in address or "`" in address:
        return ""
    kinds = [kind for kind in dict.fromkeys(request.GET.get("block", "").split(",")) if kind in KINDS]
    return "\n".join(f"```{kind}\n{address}\n```\n" for kind in kinds)


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    report = fetch(Report.objects.select_related("owner"), pk=pk)
    link = reverse("reports:shared", args=[report.share_key]) if report.share_key else ""
    context = {
        "report": report,
        "rendered": render_report(report.text, linked=True, interactive=True),
        "edits": can(report, Role.EDITOR),
        "is_mine": can(report, Role.EDITOR if report.is_of(request.user) else Role.ADMIN),
        "link": request.build_absolute_uri(link) if link else "",
    }
    return render(request, "reports/detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    report = fetch(Report, needs=Role.EDITOR, pk=pk)
    if request.method != "POST":
        return _editor(request, report, title=report.title, text=report.text, version=report.version)
    title, text = request.POST.get("title", ""), request.POST.get("text", "")
    version = request.POST.get("version", "")
    read = int(version) if version.isascii() and version.isdigit() and len(version) < 9 else 0
    try:
        services.change(report, request.user, title=title, text=text, version=read)
    except services.Refused as refusal:
        return _editor(request, report, title=title, text=text, version=read, problem=str(refusal))
    return redirect("reports:detail", pk)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """The text of the editor as it would be shown."""
    rendered = render_report(request.POST.get("text", "")[:LONGEST_TEXT], linked=True)
    return render(request, "reports/_body.html", {"rendered": rendered})


@require_POST
def share(request: HttpRequest, pk: int) -> HttpResponse:
    report = fetch(Report, needs=Role.EDITOR, pk=pk)
    if request.POST.get("action") == "revoke":
        services.revoke(report, request.user)
        messages.success(request, "The link no longer works.")
    else:
        services.share(report, request.user)
        messages.success(request, "Anyone with the link can read this report, and what its runs report from now on.")
    return redirect("reports:detail", pk)


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    report = fetch(Report, needs=Role.EDITOR, pk=pk)
    services.delete(report, request.user)
    messages.success(request, f"The report “{report.title}” was deleted.")
    return redirect("reports:list")


@require_safe
def export(request: HttpRequest, pk: int) -> HttpResponse:
    """One file that needs nothing else: styles are in it, charts are SVG, and there are no scripts."""
    report = fetch(Report.objects.select_related("owner"), pk=pk)
    origin = request.build_absolute_uri("/").rstrip("/")
    folder = settings.BASE_DIR / "static" / "css"
    context = {
        "report": report,
        "rendered": render_report(report.text, linked=False, origin=origin),
        "styles": "\n".join((folder / name).read_text() for name in STYLES),
        "now": timezone.now(),
    }
    stem = re.sub(r"[^a-z0-9]+", "-", report.title.lower()).strip("-") or f"report-{pk}"
    answer = render(request, "reports/export.html", context)
    answer["Content-Disposition"] = f'attachment; filename="{stem[:80]}.html"'
    return answer


@login_not_required
@require_safe
def shared(request: HttpRequest, key: str) -> HttpResponse:
    """For anyone with the link. An unknown key and a revoked one are the same."""
    report = Report.objects.select_related("owner").filter(share_key=key).first()
    if report is None:
        return render(request, "reports/gone.html", status=404)
    with reading_as(report.owner or AnonymousUser()):  # what its owner may read, and nothing once there is none
        rendered = render_report(report.text, linked=False, interactive=True)
    answer = render(request, "reports/shared.html", {"report": report, "rendered": rendered})
    answer["Referrer-Policy"] = "no-referrer"  # the address is a secret
    return answer


def _editor(
    request: HttpRequest, report: Report | None, *, title: str, text: str, version: int, problem: str = ""
) -> HttpResponse:
    context: dict[str, Any] = {
        "report": report,
        "title": title,
        "text": text,
        "version": version,
        "problem": problem,
        "kinds": ABOUT_KINDS,
        "longest_title": LONGEST_TITLE,
        "longest_text": LONGEST_TEXT,
    }
    return render(request, "reports/edit.html", context, status=422 if problem else 200)
