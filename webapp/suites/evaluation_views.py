"""The form that evaluates a model on a suite, the page of an evaluation, and what users do to it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engine.suites.outcomes import OUTCOMES
from webapp.audit.services import entries_of
from webapp.environments.restrictions import administers
from webapp.idempotency.forms import once
from webapp.jobs import Refused
from webapp.members.choices import project_for_new
from webapp.projects.access import fetch, readable
from webapp.projects.models import Role
from webapp.suites import services
from webapp.suites.downloads import outcomes_file
from webapp.suites.models import PolicyKind, Suite, SuiteEvaluation, SuiteVersion
from webapp.suites.policies import SEPARATOR, Checkpoints, checkpoints, model_folders
from webapp.suites.services import AlreadyEvaluated
from webapp.suites.shown import rate_of, rows, shown_items
from webapp.suites.waiting import left_in_words, waiting_of

PAGE = 100
FIELDS = ("policy", "checkpoint", "directory", "endpoint", "endpoint_model", "key_variable", "samples", "again")


@require_http_methods(["GET", "HEAD", "POST"])
def evaluate(request: HttpRequest, name: str) -> HttpResponse:
    """GET shows the form, with the checkpoint `?run=…&step=…` chosen; POST submits it and redirects to its page."""
    suite = fetch(Suite, name=name)
    project_for_new(request.user)  # who edits nothing has nothing to evaluate for
    version = suite.latest
    problem, earlier = "", None
    if request.method == "POST":
        try:
            return redirect(once(request, lambda: _submitted(request, version)))
        except Refused as refused:
            problem = str(refused)
            earlier = refused.earlier if isinstance(refused, AlreadyEvaluated) else None
    context = {
        "suite": suite,
        "version": version,
        "document": version.parsed(),
        "values": _values(request, listed := checkpoints()),
        "checkpoints": listed,
        "folders": model_folders(),
        "keys": settings.STARBOARD_ENDPOINT_KEYS,
        "kinds": PolicyKind,
        "roots": settings.STARBOARD_MODEL_FOLDERS,
        "administers": administers(request),
        "problem": problem,
        "earlier": earlier,
    }
    return render(request, "suites/evaluate.html", context, status=422 if problem else 200)


def _submitted(request: HttpRequest, version: SuiteVersion) -> str:
    made = services.submit(version, request.POST.dict(), request.user)
    return reverse("suites:evaluation", args=[made.pk])


@require_safe
def evaluation_list(request: HttpRequest) -> HttpResponse:
    found = readable(SuiteEvaluation.objects.select_related("version__suite", "owner", "run"))
    context = {"rows": rows(list(found[:PAGE])), "more": found.count() > PAGE}
    return render(request, "suites/evaluations.html", context)


@require_safe
def evaluation(request: HttpRequest, pk: int) -> HttpResponse:
    found = _evaluation(pk)
    return render(request, "suites/evaluation.html", _context(found))


@require_safe
def results(request: HttpRequest, pk: int) -> HttpResponse:
    """The parts of the page that change while it is played."""
    return render(request, "suites/_refreshed.html", _context(_evaluation(pk)))


@require_POST
def control(request: HttpRequest, pk: int) -> HttpResponse:
    """`action` is `stop`, `resume`, or `again`, which plays the same inputs a second time."""
    found = _evaluation(pk, needs=Role.EDITOR)
    action = request.POST.get("action", "")
    try:
        if action == "stop":
            if not services.stop(found, request.user):
                messages.warning(request, "There is nothing to stop: the evaluation has ended.")
        elif action == "resume":
            services.resume(found, request.user)
        elif action == "again":
            found = services.again(found, request.user)
        else:
            return HttpResponse("Send `action` as stop, resume or again.", status=400, content_type="text/plain")
    except Refused as refusal:
        messages.warning(request, str(refusal))
    return redirect("suites:evaluation", found.pk)


@require_safe
def outcomes(request: HttpRequest, pk: int) -> HttpResponseBase:
    """All outcomes as one Parquet file."""
    found = outcomes_file(request, _evaluation(pk))
    if found is None:
        raise Http404("No outcomes yet.")
    return found


def _evaluation(pk: int, needs: Role = Role.VIEWER) -> SuiteEvaluation:
    return fetch(SuiteEvaluation.objects.select_related("version__suite", "owner", "run"), needs=needs, pk=pk)


def _context(found: SuiteEvaluation) -> dict[str, Any]:
    suite = found.suite()
    items = shown_items(found, suite)
    return {
        "evaluation": found,
        "suite": suite,
        "items": items,
        "rate": rate_of(found),
        "left": left_in_words(found),
        "waiting": waiting_of(found),
        "trained_on": sum(item.result.trained_on or 0 for item in items if item.result),
        "unscored": sum(item.unscored for item in items),
        "entries": entries_of(found),
        "has_outcomes": (found.folder / OUTCOMES).is_file(),
    }


def _values(request: HttpRequest, listed: list[Checkpoints]) -> dict[str, str]:
    if request.method == "POST":
        return {name: request.POST.get(name, "") for name in FIELDS}
    run, step = request.GET.get("run", ""), request.GET.get("step", "")
    return {
        "policy": PolicyKind.CHECKPOINT if listed else PolicyKind.DIRECTORY,
        "checkpoint": f"{run}{SEPARATOR}{step}" if run and step else "",
        "directory": "tiny",
    }
