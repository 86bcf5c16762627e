"""The Control tab of a run's page: live settings, launching the run again, and the audit log."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from engine.errors import StarboardError
from webapp.audit.services import entries
from webapp.evaluations.same_config import compare, runs_with_same_config
from webapp.idempotency.forms import once
from webapp.projects.access import fetch
from webapp.projects.models import Role
from webapp.runs import live_settings, services
from webapp.runs.live_settings import Refused
from webapp.runs.models import Run
from webapp.whole_numbers import whole_number

LONGEST = 256 * 1024


@require_POST
def change_settings(request: HttpRequest, run_id: str) -> HttpResponse:
    """Requests new settings. `changes` is a JSON object by dotted field, `revision` is the revision that the user saw.

    Answers 200 with the changes, 409 if the run's state or revision does not allow them, 422 with errors by field.
    """
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)
    try:
        wanted = _wanted(request)
        revision = whole_number(request.POST.get("revision", ""))
        changes = live_settings.change(run, wanted, request.user, revision=revision)
    except Refused as refusal:
        return JsonResponse({"errors": refusal.errors}, status=409 if refusal.conflict else 422)
    run.refresh_from_db()
    return JsonResponse({"errors": {}, "changes": changes, "state": run.live_state()})


def _wanted(request: HttpRequest) -> dict[str, Any]:
    text = request.POST.get("changes", "")
    try:
        wanted = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        wanted = None
    if not isinstance(wanted, dict):
        raise Refused({"": "Send `changes` as a JSON object of dotted fields."})
    return wanted


@require_POST
def again(request: HttpRequest, run_id: str) -> HttpResponse:
    """Launches a new run with the same configuration and seed."""
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)

    def launch() -> str:
        launched = services.run_again(run, request.user)
        words = f"Launched with the configuration and seed of {run.name}. The Control tab compares their steps."
        messages.info(request, words)
        return reverse("runs:detail", args=[launched.pk])

    try:
        return redirect(once(request, launch))
    except StarboardError as error:
        messages.warning(request, str(error))
        return redirect("runs:detail", run.pk)


@require_safe
def history(request: HttpRequest, run_id: str) -> HttpResponse:
    """The audit log and runs with the same configuration: a fragment that is loaded when the tab is opened."""
    run = fetch(Run, pk=run_id)
    pairs = [compare(run, other) for other in runs_with_same_config(run)]
    return render(request, "run_pages/_history.html", {"run": run, "entries": entries(run), "pairs": pairs})
