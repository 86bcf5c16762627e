"""The pre-flight page of an environment, and the JSON behind it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.environments import preflights
from webapp.environments.models import PLAYERS, EnvironmentDefinition, Preflight
from webapp.idempotency.forms import once
from webapp.jobs import Refused
from webapp.members.choices import project_for_new
from webapp.projects.access import fetch, require
from webapp.projects.models import Role
from webapp.whole_numbers import whole_number

EARLIER = 20
DEFAULTS = {"player": "mixed:0.4", "problems": "16", "rollouts": "8", "first_seed": "0", "model": "tiny"}


@require_http_methods(["GET", "HEAD", "POST"])
def preflight_page(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the pre-flight `id`, or the newest, and the form; POST submits one and redirects to it."""
    definition = fetch(EnvironmentDefinition, pk=pk)
    if request.method == "POST":
        if definition.project_id is None:  # it ships: whoever edits anything may try it
            project_for_new(request.user)
        else:
            require(definition, Role.EDITOR)
    problem = ""
    if request.method == "POST":
        try:
            return redirect(once(request, lambda: _submitted(request, definition)))
        except Refused as refused:
            problem = str(refused)
    earlier = Preflight.objects.filter(version__definition=definition).select_related("version")
    asked = whole_number(request.GET.get("id", ""))
    shown = earlier.filter(pk=asked).first() if asked is not None else earlier.first()
    latest = definition.latest
    posted = request.POST if request.method == "POST" else {}
    return render(
        request,
        "environments/preflight.html",
        {
            "definition": definition,
            "version": latest,
            "shown": shown,
            "state": preflights.as_json(shown) if shown else None,
            "earlier": earlier[:EARLIER],
            "players": PLAYERS,
            "values": {name: posted.get(name, default) for name, default in DEFAULTS.items()},
            "most": {"problems": preflights.MOST_PROBLEMS, "rollouts": preflights.MOST_ROLLOUTS},
            "problem": problem,
        },
        status=422 if problem else 200,
    )


def _submitted(request: HttpRequest, definition: EnvironmentDefinition) -> str:
    made = preflights.submit(definition.latest, request.user, request.POST.dict())
    return f"{reverse('environments:preflight', args=[definition.pk])}?id={made.pk}"


@require_safe
def preflight_data(request: HttpRequest, pk: int, preflight_id: int) -> HttpResponse:
    found = fetch(Preflight, pk=preflight_id, version__definition_id=pk)
    return JsonResponse(preflights.as_json(found))


@require_POST
def stop_preflight(request: HttpRequest, pk: int, preflight_id: int) -> HttpResponse:
    found = fetch(Preflight, needs=Role.EDITOR, pk=preflight_id, version__definition_id=pk)
    preflights.stop(found, request.user)
    return redirect(f"{reverse('environments:preflight', args=[pk])}?id={preflight_id}")
