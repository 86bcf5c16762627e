"""The form of a new run, which starts from a preset, a cloned run or a checkpoint, and is validated as it is edited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from engine.config import RunConfig
from engine.errors import CheckpointError
from engine.rescue import Remedy
from webapp.alerts.rescue import rescue, shown
from webapp.alerts.rules import editor_data, parsed, shown_rules
from webapp.environments.models import EnvironmentVersion
from webapp.forms import run_config
from webapp.forms.fields import FormField, Node
from webapp.forms.values import SHOWN, without_unseen
from webapp.idempotency.forms import once
from webapp.launching import drafts, more_environments, seeds
from webapp.launching.labels import Labels
from webapp.launching.models import SavedPreset
from webapp.launching.presets import RunPreset, run_presets, saved_presets
from webapp.launching.sized import RESPONSE_TOKENS, response_tokens, sized
from webapp.members.choices import project_for_new
from webapp.projects.access import readable
from webapp.runs import forks, services
from webapp.runs.config_file import as_toml, shell_command
from webapp.runs.labels import label, parse_tags
from webapp.runs.live_settings import current
from webapp.runs.models import Run
from webapp.runs.names import generated_name
from webapp.runs.priorities import NAMES, priority_number
from webapp.runs.quotas import QuotaExceeded
from webapp.runs.settings_history import described, history_of
from webapp.runs.shipped_presets import preset_titled
from webapp.whole_numbers import whole_number

LONGEST_NAME = 60
MODEL = "model.path"
WITH_A_MODEL = ("model.revision", "model.adapter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The content of the form. `step` is the checkpoint of `source` to start from.

    `unseen` are errors for types that were chosen without their fields in view, which happens without JavaScript.
    """

    preset: RunPreset
    source: Run | None
    step: int | None
    version: EnvironmentVersion | None
    values: dict[str, str]
    more: list[more_environments.Row]
    rules: Any
    labels: Labels
    unseen: dict[str, str] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    seeds_problem: str = ""
    changes: list[Remedy] = field(default_factory=list)  # that an alert of `source` suggests, already in `values`

    def draft(self) -> drafts.Draft:
        if self.unseen:
            return drafts.Draft(config=None, errors=self.unseen)
        first = {"seed": str(self.seeds[0])} if self.seeds else {}
        made = drafts.draft(
            {**self.values, **first},
            self.version,
            preset=self.preset.title,
            rules=self.rules,
            more=self.more,
            source=self.source,
        )
        if self.seeds_problem:
            made.errors["seed"] = self.seeds_problem
        made.errors |= self.labels.errors()
        return made


def new(request: HttpRequest) -> HttpResponse:
    """GET shows the form; POST launches the run or shows the errors."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponse(status=405, headers={"Allow": "GET, POST"})
    project_for_new(request.user)  # who edits nothing launches nothing
    filled = _posted(request) if request.method == "POST" else _begun(request)
    made = filled.draft() if request.method == "POST" else None
    if made is not None and made.valid and made.config is not None and request.POST.get("then") == "sweep":
        return _to_sweep(request, filled, made.config)
    if made is not None and (address := once(request, lambda: _address_of(_launched(request, filled, made)))):
        return redirect(address)
    errors = made.errors if made else {}
    return render(request, "launching/new.html", _context(request, filled, errors), status=422 if errors else 200)


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
    filled = _posted(request)
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
    filled = _posted(request)
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
    except QuotaExceeded as error:
        messages.error(request, f"The run was not launched. {error}")
        return redirect("launching:new")


def _begun(request: HttpRequest) -> Filled:
    """The form as the URL requests it: from a preset, a run to clone, or a run to fork at a step."""
    source = _source(request.GET)
    preset = _preset(request, request.GET, source)
    step = _step(request.GET.get("step", ""))
    as_launched = request.GET.get("settings") == "launched"
    values, changes = _values_of(source, step, whole_number(request.GET.get("alert", "")), as_launched=as_launched)
    if path := request.GET.get(MODEL, "").strip():
        values = {**values, **{name: request.GET.get(name, "").strip() for name in WITH_A_MODEL}, MODEL: path}
    return Filled(
        preset=preset,
        source=source,
        step=step,
        version=_version(request.GET, source, preset),
        values=values,
        changes=changes,
        more=more_environments.posted(request.GET) or (more_environments.of_run(source) if source else []),
        rules=_rules_of(source, preset, as_launched=as_launched),
        labels=Labels.given(request.GET.dict(), source),
    )


def _posted(request: HttpRequest) -> Filled:
    source = _source(request.POST)
    preset = _preset(request, request.POST, source)
    edited = request.POST.get("detectors.rules")
    values = run_config.posted(request.POST.dict())
    unseen = run_config.unseen(values, request.POST.getlist(SHOWN))
    found, problem = _seeds(values["seed"]) if "seed" in values else ([], "")  # without it, the preset's
    return Filled(
        preset=preset,
        source=source,
        step=None,
        version=_version(request.POST, source, preset),
        values=without_unseen(values, unseen),
        more=more_environments.posted(request.POST),
        rules=parsed(edited) if edited else _rules_of(source, preset),
        labels=Labels.given(request.POST.dict(), None),
        unseen=unseen,
        seeds=found,
        seeds_problem=problem,
    )


def _seeds(text: str) -> tuple[list[int], str]:
    """The seeds, or what is wrong with the text."""
    try:
        return seeds.seeds_of(text), ""
    except ValueError as error:
        return [], str(error)


def _context(request: HttpRequest, filled: Filled, errors: dict[str, str]) -> dict[str, Any]:
    base = run_config.flatten(filled.preset.config().model_dump(mode="json"))
    given = request.POST if request.method == "POST" else request.GET
    sections = run_config.fill(run_config.sections(), filled.values, base, errors)
    return {
        "sections": sections,
        "essentials": _essentials(sections),
        "presets": run_presets().values(),
        "saved": saved_presets(request.user).values(),
        "preset": filled.preset,
        "versions": _versions(),
        "chosen": filled.version,
        "first_groups": given.get("environment-groups") or _first_groups(filled.source),
        **_response_tokens(filled, given.get(RESPONSE_TOKENS)),
        "more": _with_errors(filled.more, errors),
        "kept": more_environments.kept_choices(filled.source),
        "source": filled.source,
        "changed_settings": described(history_of(filled.source)) if filled.source else [],
        "as_launched": given.get("settings") == "launched",
        "fork": _fork(filled.values),
        "changes": shown(filled.changes),
        "rule_editor": editor_data(),
        "rules": shown_rules(filled.rules),
        "fill_sized": "true" if MODEL in request.GET and filled.source is None else "",
        "errors": errors,
        "name": given.get("name") or _fork_name(filled.source, filled.step),
        "labels": filled.labels,
        "priorities": NAMES,
        "on_cluster": filled.values.get("backend", base["backend"]) == "ray",
    }


def _essentials(sections: list[run_config.ConfigSection]) -> list[Node]:
    """What most people set. The form takes several seeds where a configuration has one."""
    found = run_config.essentials(sections)
    for node in found:
        if isinstance(node, FormField) and node.name == "seed":
            node.help, node.kind, node.low, node.high = seeds.HELP, "text", None, None
    return found


def _preset(request: HttpRequest, data: QueryDict, source: Run | None) -> RunPreset:
    """The requested preset, or that of the cloned run, or the cloned run itself if its preset does not exist."""
    presets = run_presets() | saved_presets(request.user)
    requested = presets.get(data.get("preset") or "")
    if requested is not None or source is None:
        return requested or presets["starter"]
    same = next((one for one in presets.values() if one.title == source.preset), None)
    return same or RunPreset(key="", title=source.preset, description="", data=source.config)


def _source(data: QueryDict) -> Run | None:
    """The run to clone or fork; imported runs have no configuration to clone."""
    return readable(Run.objects.filter(pk=data.get("clone") or "", imported_from="")).first()


def _step(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _values_of(
    source: Run | None, step: int | None, alert: int | None, *, as_launched: bool
) -> tuple[dict[str, str], list[Remedy]]:
    """Initial values: none, or those of the cloned or forked run with the settings that it has now or had at launch.
    With an alert they have the changes that it suggests, which are returned as well."""
    if source is None:
        return {}, []
    raised = source.alerts.filter(seq=alert).first() if alert is not None else None
    if as_launched and step is None and raised is None:
        return run_config.flatten(source.config), []
    config = current(source) if step is None else forks.started_at(source, step)
    config, changes = rescue(raised, config, start=step or 0) if raised is not None else (config, [])
    return run_config.flatten(config.model_dump(mode="json")), changes


def _rules_of(source: Run | None, preset: RunPreset, *, as_launched: bool = False) -> Any:
    """The alert rules that the cloned run has now or had at launch, or those of the preset."""
    if source is None:
        return preset.config().model_dump(mode="json")["detectors"]["rules"]
    launched_with = source.config.get("detectors", {}).get("rules")
    return launched_with if as_launched else source.settings_changes.get("detectors.rules", launched_with)


def _first_groups(source: Run | None) -> str:
    """Groups of the first environment, a field that is shown only if there are others."""
    return more_environments.groups_of(source.config["environments"][0]) if source else ""


def _response_tokens(filled: Filled, given: str | None) -> dict[str, str]:
    """The form's value and the preset's: empty where it is the limit of the chosen environment."""
    preset = response_tokens(filled.preset.data, filled.version)
    cloned = response_tokens(filled.source.config, filled.version) if filled.source else preset
    return {"response_tokens": cloned if given is None else given, "preset_response_tokens": preset}


def _with_errors(more: list[more_environments.Row], errors: dict[str, str]) -> list[more_environments.Row]:
    for index, row in enumerate(more, 1):
        row.error = errors.get(f"environments.{index}", "")
    return more


def _fork(values: dict[str, str]) -> dict[str, Any] | None:
    """The run and step that the form starts from, for its heading."""
    run = readable(Run.objects.filter(pk=values.get("model.start_from.run") or "")).first()
    return {"run": run, "step": values.get("model.start_from.step", "")} if run else None


def _fork_name(source: Run | None, step: int | None) -> str:
    return forks.name_of(source, step) if source and step is not None else ""


def _versions() -> list[EnvironmentVersion]:
    """The newest version of each environment that is not archived."""
    current = readable(EnvironmentVersion.objects.select_related("definition").filter(definition__archived_at=None))
    newest: dict[int, EnvironmentVersion] = {}
    for version in current.order_by("definition__name", "-number"):
        newest.setdefault(version.definition_id, version)
    return list(newest.values())


def _version(data: QueryDict, source: Run | None, preset: RunPreset) -> EnvironmentVersion | None:
    """The selected version; else that of the source, else of the preset's environment or of FrozenLake, else any."""
    selected = whole_number(data.get("environment") or "")
    if selected is not None:
        return readable(EnvironmentVersion.objects.select_related("definition").filter(pk=selected)).first()
    if source is not None and source.environment_version is not None:
        return source.environment_version
    if preset.saved is not None and preset.saved.environment_version is not None:
        return preset.saved.environment_version
    versions = _versions()
    named = [version for version in versions if version.definition.name == (preset.environment or "FrozenLake")]
    return next(iter([*named, *versions]), None)
