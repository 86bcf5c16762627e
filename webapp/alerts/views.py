"""Alerts of a run: what one is based on, and what other rules would have raised."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from engine.events import AlertRaised
from webapp.alerts.evidence import evidence_of
from webapp.alerts.rules import ACTIONS, checked, parsed, trial
from webapp.projects.access import fetch
from webapp.projects.models import Role
from webapp.runs.models import Alert, Run
from webapp.runs.recorded_events import newest_of


@require_safe
def evidence(request: HttpRequest, run_id: str, seq: int) -> HttpResponse:
    """Includes an alert that no longer counts, since messages link to it: its event remains."""
    run = fetch(Run, pk=run_id)
    alert = run.alerts.filter(seq=seq).first()
    counts = alert is not None
    if alert is None:
        raised = newest_of(run, AlertRaised, seq=seq)
        if raised is None:
            raise Http404("The run has no such alert.")
        alert = Alert.of(run, raised)
    context = {"alert": alert, "run": run, "evidence": evidence_of(alert), "counts": counts, "verdict": run.verdict}
    return render(request, "alerts/evidence.html", context)


@require_POST
def try_rules(request: HttpRequest, run_id: str) -> HttpResponse:
    """The alerts that the rules posted as JSON would have raised on this run; 422 with errors by field if they are
    invalid."""
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)
    data = {"rules": parsed(request.POST.get("rules", ""))}
    data |= {name: request.POST[name] for name in ACTIONS if name in request.POST}
    detectors, errors = checked(data)
    if detectors is None:
        return JsonResponse({"errors": errors}, status=422)
    return JsonResponse({"errors": {}, **trial(run, detectors)})
