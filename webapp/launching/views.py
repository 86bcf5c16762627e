"""The form of a new run, which starts from a preset, a cloned run or a checkpoint, and is validated as it is edited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from engine.errors import CheckpointError
from webapp.alerts.rules import editor_data, parsed, shown_rules
from webapp.environments.models import EnvironmentVersion
from webapp.forms import run_config
from webapp.forms.values import SHOWN, without_unseen
from webapp.launching import drafts, more_environments
from webapp.launching.presets import RunPreset, run_presets
from webapp.runs import forks, services
from webapp.runs.config_file import as_toml, shell_command
from webapp.runs.live_settings import current
from webapp.runs.models import Run
from webapp.runs.settings_history import described, history_of
from webapp.whole_numbers import whole_number


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
    unseen: dict[str, str] = field(default_factory=dict)

    def draft(self) -> drafts.Draft:
        if self.unseen:
            return drafts.Draft(config=None, errors=self.unseen)
        return drafts.draft(
            self.values, self.version, preset=self.preset.title, rules=self.rules, more=self.more, source=self.source
        )


def new(request: HttpRequest) -> HttpResponse:
    """GET shows the form; POST launches the run or shows the errors."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponse(status=405, headers={"Allow": "GET, POST"})
    filled = _posted(request) if request.method == "POST" else _begun(request)
    made = filled.draft() if request.method == "POST" else None
    if made is not None and (run := _launched(request, filled, made)):
        return redirect("runs:detail", run.pk)
    errors = made.errors if made else {}
    return render(request, "launching/new.html", _context(request, filled, errors), status=422 if errors else 200)


def _launched(request: HttpRequest, filled: Filled, made: drafts.Draft) -> Run | None:
    """The launched run; None if the draft has errors, or if the checkpoint of a fork was deleted after the check."""
    if not made.valid or made.config is None:
        return None
    try:
        return services.submit_run(
            owner=request.user,
            config=made.config,
            name=request.POST.get("name", "")[:80],
            preset=filled.preset.title,
            environment_version=filled.version,
            cloned_from=filled.source,
        )
    except CheckpointError as error:
        why = f"The checkpoint is not available, so the run was not launched. {error.remedy}"
        made.errors["model.start_from.step"] = why
        return None


@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """What the form would launch: errors by field, warnings, a summary, the TOML file and the command."""
    made = _posted(request).draft()
    answer: dict[str, Any] = {"errors": made.errors, "warnings": made.warnings, "memory": made.memory}
    if made.config is not None:
        answer |= {
            "summary": drafts.summary(made.config),
            "toml": as_toml(made.config),
            "command": shell_command(),
        }
    return JsonResponse(answer)


@require_POST
def quick_start(request: HttpRequest) -> HttpResponse:
    """Launches a preset without changes."""
    presets = run_presets()
    key = request.POST.get("preset", "")
    if key not in presets:
        return HttpResponse(f"Unknown preset {key[:40]!r}.", status=400, content_type="text/plain")
    run = services.submit_run(owner=request.user, config=presets[key].config(), preset=presets[key].title)
    return redirect("runs:detail", run.pk)


def _begun(request: HttpRequest) -> Filled:
    """The form as the URL requests it: from a preset, a run to clone, or a run to fork at a step."""
    source = _source(request.GET)
    preset = _preset(request.GET, source)
    step = _step(request.GET.get("step", ""))
    as_launched = request.GET.get("settings") == "launched"
    return Filled(
        preset=preset,
        source=source,
        step=step,
        version=_version(request.GET, source, preset),
        values=_values_of(source, step, as_launched=as_launched),
        more=more_environments.posted(request.GET) or (more_environments.of_run(source) if source else []),
        rules=_rules_of(source, preset, as_launched=as_launched),
    )


def _posted(request: HttpRequest) -> Filled:
    source = _source(request.POST)
    preset = _preset(request.POST, source)
    edited = request.POST.get("detectors.rules")
    values = run_config.posted(request.POST.dict())
    unseen = run_config.unseen(values, request.POST.getlist(SHOWN))
    return Filled(
        preset=preset,
        source=source,
        step=None,
        version=_version(request.POST, source, preset),
        values=without_unseen(values, unseen),
        more=more_environments.posted(request.POST),
        rules=parsed(edited) if edited else _rules_of(source, preset),
        unseen=unseen,
    )


def _context(request: HttpRequest, filled: Filled, errors: dict[str, str]) -> dict[str, Any]:
    base = run_config.flatten(filled.preset.config().model_dump(mode="json"))
    given = request.POST if request.method == "POST" else request.GET
    return {
        "sections": run_config.fill(run_config.sections(), filled.values, base, errors),
        "presets": run_presets().values(),
        "preset": filled.preset,
        "versions": _versions(),
        "chosen": filled.version,
        "first_groups": given.get("environment-groups") or _first_groups(filled.source),
        "more": _with_errors(filled.more, errors),
        "kept": more_environments.kept_choices(filled.source),
        "source": filled.source,
        "changed_settings": described(history_of(filled.source)) if filled.source else [],
        "as_launched": given.get("settings") == "launched",
        "fork": _fork(filled.values),
        "rule_editor": editor_data(),
        "rules": shown_rules(filled.rules),
        "errors": errors,
        "name": given.get("name") or _fork_name(filled.source, filled.step),
        "on_cluster": filled.values.get("backend", base["backend"]) == "ray",
    }


def _preset(data: QueryDict, source: Run | None) -> RunPreset:
    """The requested preset, or that of the cloned run, or the cloned run itself if its preset does not exist."""
    presets = run_presets()
    requested = presets.get(data.get("preset") or "")
    if requested is not None or source is None:
        return requested or presets["starter"]
    same = next((one for one in presets.values() if one.title == source.preset), None)
    return same or RunPreset(key="", title=source.preset, description="", data=source.config)


def _source(data: QueryDict) -> Run | None:
    """The run to clone or fork; imported runs have no configuration to clone."""
    return Run.objects.filter(pk=data.get("clone") or "", imported_from="").first()


def _step(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _values_of(source: Run | None, step: int | None, *, as_launched: bool) -> dict[str, str]:
    """Initial values: none, or those of the cloned or forked run with the settings that it has now or had at launch."""
    if source is None:
        return {}
    values = run_config.flatten(source.config if as_launched else current(source).model_dump(mode="json"))
    if step is None:
        return values
    return values | {"model.start_from.run": source.pk, "model.start_from.step": str(step)}


def _rules_of(source: Run | None, preset: RunPreset, *, as_launched: bool = False) -> Any:
    """The alert rules that the cloned run has now or had at launch, or those of the preset."""
    if source is None:
        return preset.config().model_dump(mode="json")["detectors"]["rules"]
    launched_with = source.config.get("detectors", {}).get("rules")
    return launched_with if as_launched else source.settings_changes.get("detectors.rules", launched_with)


def _first_groups(source: Run | None) -> str:
    """Groups of the first environment, a field that is shown only if there are others."""
    return more_environments.groups_of(source.config["environments"][0]) if source else ""


def _with_errors(more: list[more_environments.Row], errors: dict[str, str]) -> list[more_environments.Row]:
    for index, row in enumerate(more, 1):
        row.error = errors.get(f"environments.{index}", "")
    return more


def _fork(values: dict[str, str]) -> dict[str, Any] | None:
    """The run and step that the form starts from, for its heading."""
    run = Run.objects.filter(pk=values.get("model.start_from.run") or "").first()
    return {"run": run, "step": values.get("model.start_from.step", "")} if run else None


def _fork_name(source: Run | None, step: int | None) -> str:
    return forks.name_of(source, step) if source and step is not None else ""


def _versions() -> list[EnvironmentVersion]:
    """The newest version of each environment that is not archived."""
    current = EnvironmentVersion.objects.select_related("definition").filter(definition__archived_at=None)
    newest: dict[int, EnvironmentVersion] = {}
    for version in current.order_by("definition__name", "-number"):
        newest.setdefault(version.definition_id, version)
    return list(newest.values())


def _version(data: QueryDict, source: Run | None, preset: RunPreset) -> EnvironmentVersion | None:
    """The selected version; else that of the source, else of the preset's environment or of FrozenLake, else any."""
    selected = whole_number(data.get("environment") or "")
    if selected is not None:
        return EnvironmentVersion.objects.select_related("definition").filter(pk=selected).first()
    if source is not None and source.environment_version is not None:
        return source.environment_version
    versions = _versions()
    named = [version for version in versions if version.definition.name == (preset.environment or "FrozenLake")]
    return next(iter([*named, *versions]), None)
