"""Alerts of a run: what one is based on, and what other rules would have raised."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from webapp.alerts.evidence import evidence_of
from webapp.alerts.rules import ACTIONS, checked, parsed, trial
from webapp.runs.models import Alert, Run


@require_safe
def evidence(request: HttpRequest, run_id: str, seq: int) -> HttpResponse:
    alert = get_object_or_404(Alert.objects.select_related("run"), run=run_id, seq=seq)
    return render(request, "alerts/evidence.html", {"alert": alert, "run": alert.run, "evidence": evidence_of(alert)})


@require_POST
def try_rules(request: HttpRequest, run_id: str) -> HttpResponse:
    """What the rules posted as JSON would have raised on this run; 422 with errors by field where they are none."""
    run = get_object_or_404(Run, pk=run_id)
    data = {"rules": parsed(request.POST.get("rules", ""))}
    data |= {name: request.POST[name] for name in ACTIONS if name in request.POST}
    detectors, errors = checked(data)
    if detectors is None:
        return JsonResponse({"errors": errors}, status=422)
    return JsonResponse({"errors": {}, **trial(run, detectors)})
