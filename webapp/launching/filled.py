"""The content of the form of a new run: as its URL requests it, or as it was posted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, QueryDict

from engine.rescue import Remedy
from webapp.alerts.rescue import rescue
from webapp.alerts.rules import parsed
from webapp.environments.models import EnvironmentVersion
from webapp.forms import run_config
from webapp.forms.values import SHOWN, without_unseen
from webapp.launching import drafts, more_environments, seeds
from webapp.launching.labels import Labels
from webapp.launching.presets import RunPreset, run_presets, saved_presets
from webapp.projects.access import readable
from webapp.runs import forks
from webapp.runs.live_settings import current
from webapp.runs.models import Run
from webapp.whole_numbers import whole_number

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


def begun(request: HttpRequest) -> Filled:
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


def posted(request: HttpRequest) -> Filled:
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


def newest_versions() -> list[EnvironmentVersion]:
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
    versions = newest_versions()
    named = [version for version in versions if version.definition.name == (preset.environment or "FrozenLake")]
    return next(iter([*named, *versions]), None)
