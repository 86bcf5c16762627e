"""The form of a new sweep, which is checked as it is edited."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from engine.config import RunConfig
from webapp.durations import duration
from webapp.idempotency.forms import once
from webapp.members.choices import project_for_new
from webapp.projects.models import Project
from webapp.runs.config_file import as_toml
from webapp.runs.queue import slots
from webapp.sweeps import forms
from webapp.sweeps.axis_rows import AxisRow
from webapp.sweeps.drafts import SweepDraft
from webapp.sweeps.estimates import estimate
from webapp.sweeps.forms import CONFIRM_ABOVE, MethodChoice, SweepForm
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, Priority
from webapp.sweeps.preset_groups import preset_groups
from webapp.sweeps.results import MEASURES
from webapp.sweeps.services import create
from webapp.sweeps.swept_fields import swept_fields

SHOWN = 50  # configurations before launch


def new(request: HttpRequest) -> HttpResponse:
    """GET shows the form; POST launches the sweep or shows what is wrong."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponse(status=405, headers={"Allow": "GET, POST"})
    project = project_for_new(request.user, request.POST.get("project", ""))
    form = forms.posted(request.POST, request.user) if request.method == "POST" else forms.begun(request)
    made = form.draft()
    if request.method == "POST" and made.valid and form.base is not None and not _to_confirm(form, made):
        base = form.base
        return redirect(once(request, lambda: _launched(request, form, made, base, project)))
    context = {
        "form": form,
        "rows": [*form.rows, AxisRow()],
        "empty_row": AxisRow(),
        "fields": swept_fields(form.base) if form.base else [],
        "presets": preset_groups(form.sweep_preset),
        "methods": MethodChoice.choices,
        "objectives": MEASURES.items(),
        "priorities": [(str(value), label) for value, label in Priority.choices],
        "most_at_once": MOST_AT_ONCE,
        "most_retries": MOST_RETRIES,
        "slots": slots(),
        "toml": as_toml(form.base) if form.base else "",
        "refused": request.method == "POST",
        **_preview(form, made),
    }
    return render(request, "sweeps/new.html", context, status=422 if request.method == "POST" else 200)


def _launched(request: HttpRequest, form: SweepForm, made: SweepDraft, base: RunConfig, project: Project) -> str:
    sweep = create(
        made,
        base=base,
        owner=request.user,
        name=form.name,
        text=form.text(),
        preset=form.preset,
        environment_version=form.version,
        project=project,
        **form.limits(),
    )
    return reverse("sweeps:detail", args=[sweep.pk])


@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """What the form would launch, as a part of its page."""
    form = forms.posted(request.POST, request.user)
    return render(request, "sweeps/_preview.html", _preview(form, form.draft()))


def _to_confirm(form: SweepForm, made: SweepDraft) -> bool:
    count = made.run_count
    return count > CONFIRM_ABOVE and form.confirm.strip() != str(count)


def _preview(form: SweepForm, made: SweepDraft) -> dict[str, Any]:
    if made.plan is None:
        return {"draft": made}
    at_once = int(form.at_once)
    seeds = made.plan.seeds
    points = made.points
    expected = estimate(made.expected_configs(), len(seeds), min(at_once, slots()))
    runs = made.run_count
    return {
        "draft": made,
        "seeds": seeds,
        "axes": [axis.name for axis in made.plan.axes],
        "points": [[point.labels[axis.name] for axis in made.plan.axes] for point in points[:SHOWN]],
        "hidden": max(0, len(points) - SHOWN),
        "configurations": runs // len(seeds),
        "to_propose": runs // len(seeds) - len(points),
        "prunes": made.plan.pruning is not None,
        "runs": runs,
        "sum": f"{runs:,} run{'' if runs == 1 else 's'}",
        "steps": f"{expected.steps:,}",
        "trajectories": f"{expected.trajectories:,}",
        "duplicates": [(point.text, same.text) for point, same in made.configurations.duplicates],
        "estimate": expected,
        "engine_time": duration(expected.seconds or 0),
        "wall_time": duration(expected.wall or 0),
        "at_once": at_once,
        "to_confirm": made.valid and _to_confirm(form, made),
        "confirm_above": CONFIRM_ABOVE,
    }
