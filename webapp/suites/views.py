"""The list of suites, and the page of one."""

from __future__ import annotations

from urllib.parse import urlencode

from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.audit.services import entries_of
from webapp.jobs import LIVE, JobState
from webapp.projects.access import fetch, readable, readable_in
from webapp.suites import catalogue
from webapp.suites.definition_text import definition_of
from webapp.suites.models import Suite, SuiteEvaluation
from webapp.suites.shown import rows
from webapp.whole_numbers import whole_number

PAGE, RECENT = 50, 10
OVERALL = "overall"  # listed first


@require_safe
def suite_list(request: HttpRequest) -> HttpResponse:
    """With `?run=…&step=…` it offers to evaluate that checkpoint."""
    shown = readable_in("versions__evaluations__project")
    finished = Count("versions__evaluations", filter=shown & Q(versions__evaluations__state=JobState.FINISHED))
    live = Count("versions__evaluations", filter=shown & Q(versions__evaluations__state__in=LIVE))
    found = catalogue.listed().annotate(finished=finished, live=live)
    suites = [(suite, version, version.parsed()) for suite in found if (version := suite.versions.first()) is not None]
    suites.sort(key=lambda one: (not one[0].built_in, one[0].name != OVERALL, (one[2].title or one[2].name).lower()))
    evaluations = readable(SuiteEvaluation.objects.select_related("version__suite", "owner"))
    context = {"suites": suites, "recent": rows(list(evaluations[:RECENT])), "chosen": _chosen(request)}
    return render(request, "suites/list.html", context)


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """The newest version, or that of `?version=`."""
    suite = fetch(Suite, name=name)
    number = whole_number(request.GET.get("version", ""))
    versions = list(suite.versions.all())
    version = next((one for one in versions if one.number == number), versions[0])
    evaluations = readable(version.evaluations.select_related("owner", "run")).order_by(
        F("success").desc(nulls_last=True), "-pk"
    )
    context = {
        "suite": suite,
        "versions": versions,
        "entries": entries_of(suite),
        "version": version,
        "document": version.parsed(),
        "definition": definition_of(version),
        "evaluations": rows(list(evaluations[:PAGE])),
        "more": evaluations.count() > PAGE,
        "is_ranked": readable(SuiteEvaluation.objects.filter(version__suite=suite, state=JobState.FINISHED)).exists(),
    }
    return render(request, "suites/detail.html", context)


def _chosen(request: HttpRequest) -> str:
    """The query that chooses a checkpoint in the form, if the address does."""
    names = ("run", "step")
    if not all(request.GET.get(name) for name in names):
        return ""
    return "?" + urlencode({name: request.GET[name] for name in names})
