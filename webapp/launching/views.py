"""The form of a new run, which starts from a preset, a cloned run or a checkpoint, and is validated as it is edited."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from engine.config import RunConfig
from engine.errors import CheckpointError, ModelError, StarboardError
from webapp.adapter_copies import copies_first
from webapp.idempotency.forms import once
from webapp.launching import drafts
from webapp.launching.filled import Filled, begun, posted
from webapp.launching.form_context import form_context
from webapp.launching.models import SavedPreset
from webapp.launching.presets import run_presets
from webapp.launching.sized import sized
from webapp.members.choices import project_for_new
from webapp.runs import services
from webapp.runs.config_file import as_toml, shell_command
from webapp.runs.labels import label, parse_tags
from webapp.runs.models import Run
from webapp.runs.names import generated_name
from webapp.runs.priorities import priority_number
from webapp.runs.quotas import QuotaExceeded
from webapp.runs.shipped_presets import preset_titled

LONGEST_NAME = 60


def new(request: HttpRequest) -> HttpResponse:
    """GET shows the form; POST launches the run or shows the errors."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponse(status=405, headers={"Allow": "GET, POST"})
    project_for_new(request.user)  # who edits nothing launches nothing
    filled = posted(request) if request.method == "POST" else begun(request)
    made = filled.draft() if request.method == "POST" else None
    if made is not None and made.valid and made.config is not None and request.POST.get("then") == "sweep":
        return _to_sweep(request, filled, made.config)
    if made is not None and (address := once(request, lambda: _address_of(_launched(request, filled, made)))):
        return redirect(address)
    errors = made.errors if made else {}
    return render(request, "launching/new.html", form_context(request, filled, errors), status=422 if errors else 200)


@copies_first
def _launched(request: HttpRequest, filled: Filled, made: drafts.Draft) -> list[Run]:
    """The launched runs, one for each seed; none if the draft has errors, or if the checkpoint of a fork was deleted
    after the check."""
    if not made.valid or made.config is None:
        return []
    several = len(filled.seeds) > 1
    name = request.POST.get("name", "").strip() or (generated_name() if several else "")
    try:
        with transaction.atomic():
            like = filled.source.project if filled.source else None
            project = project_for_new(request.user, filled.labels.project, like=like, create=True)
            runs = [
                services.submit_run(
                    owner=request.user,
                    config=made.config.model_copy(update={"seed": seed}),
                    name=f"{name[:68]} seed {seed}" if several else name[:80],
                    preset=filled.preset.title,
                    environment_version=filled.version,
                    cloned_from=filled.source,
                    priority=priority_number(filled.labels.priority),
                    project=project,
                )
                for seed in filled.seeds or [made.config.seed]
            ]
            for run in runs:
                label(run, request.user, tags=parse_tags(filled.labels.tags))
            return runs
    except CheckpointError as error:
        why = f"The checkpoint is not available, so the run was not launched. {error.remedy}"
        made.errors["model.start_from.step"] = why
        return []
    except ModelError as error:
        made.errors["model.adapter"] = str(error)
        return []
    except QuotaExceeded as error:
        made.errors["quota"] = str(error)
        return []


def _to_sweep(request: HttpRequest, filled: Filled, config: RunConfig) -> HttpResponse:
    """The form of a sweep over this configuration, which reads it from the session."""
    request.session["swept_run"] = {
        "config": config.model_dump(mode="json"),
        "preset": filled.preset.title,
        "environment": filled.version.pk if filled.version else None,
        "name": request.POST.get("name", "").strip()[:60],
        "seeds": request.POST.get("seed", "") if len(filled.seeds) > 1 else "1-3",
    }
    return redirect(f"{reverse('sweeps:new')}?from=run")


def _address_of(runs: list[Run]) -> str:
    """The page of the run, or the list of runs with these alone, which share a name up to the seed."""
    if len(runs) < 2:
        return reverse("runs:detail", args=[runs[0].pk]) if runs else ""
    shared = runs[0].name.rpartition(" seed ")[0]
    return f"{reverse('runs:list')}?{urlencode({'q': shared})}"


@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """What the form would launch: errors by field, warnings, a summary, the TOML file and the command."""
    filled = posted(request)
    made = filled.draft()
    answer: dict[str, Any] = {"errors": made.errors, "warnings": made.warnings, "memory": made.memory}
    if made.config is not None:
        answer |= {
            "sized": sized(made.config, filled.preset.config()),
            "summary": drafts.summary(made.config),
            "toml": as_toml(made.config),
            "command": shell_command(),
        }
    return JsonResponse(answer)


@require_POST
def save_preset(request: HttpRequest) -> JsonResponse:
    """Stores the posted form under a name of the user's; 422 with the errors if it could not be launched either."""
    filled = posted(request)
    made, name = filled.draft(), request.POST.get("preset-name", "").strip()
    if not name or len(name) > LONGEST_NAME:
        made.errors["preset-name"] = f"must have 1 to {LONGEST_NAME} characters, got {len(name)}"
    elif preset_titled(name) is not None:
        made.errors["preset-name"] = f"{name} is the name of an included preset. Choose another."
    if made.errors or made.config is None:
        return JsonResponse({"errors": made.errors}, status=422)
    config = made.config.model_copy(update={"preset": name}).model_dump(mode="json")
    saved, _ = SavedPreset.objects.update_or_create(
        owner_id=request.user.pk, name=name, defaults={"config": config, "environment_version": filled.version}
    )
    return JsonResponse({"errors": {}, "location": f"{reverse('launching:new')}?preset=saved-{saved.pk}"})


@require_POST
def delete_preset(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(SavedPreset, pk=pk, owner=request.user.pk).delete()
    return redirect("launching:new")


@require_POST
def quick_start(request: HttpRequest) -> HttpResponse:
    """Launches a preset without changes."""
    presets = run_presets()
    key = request.POST.get("preset", "")
    if key not in presets:
        return HttpResponse(f"Unknown preset {key[:40]!r}.", status=400, content_type="text/plain")
    preset = presets[key]

    def launch() -> str:
        return _address_of([services.submit_run(owner=request.user, config=preset.config(), preset=preset.title)])

    try:
        return redirect(once(request, launch))
    except StarboardError as error:
        messages.error(request, f"The run was not launched. {error}")
        return redirect("launching:new")
