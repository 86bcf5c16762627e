"""What the template of the form of a new run shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from webapp.alerts.rescue import shown
from webapp.alerts.rules import editor_data, shown_rules
from webapp.forms import run_config
from webapp.forms.fields import FormField, Node
from webapp.launching import more_environments, seeds
from webapp.launching.filled import MODEL, Filled, newest_versions
from webapp.launching.presets import run_presets, saved_presets
from webapp.launching.sized import RESPONSE_TOKENS, response_tokens
from webapp.projects.access import readable
from webapp.runs import forks
from webapp.runs.models import Run
from webapp.runs.priorities import NAMES
from webapp.runs.settings_history import described, history_of


def form_context(request: HttpRequest, filled: Filled, errors: dict[str, str]) -> dict[str, Any]:
    base = run_config.flatten(filled.preset.config().model_dump(mode="json"))
    given = request.POST if request.method == "POST" else request.GET
    sections = run_config.fill(run_config.sections(), filled.values, base, errors)
    return {
        "sections": sections,
        "essentials": _essentials(sections),
        "presets": run_presets().values(),
        "saved": saved_presets(request.user).values(),
        "preset": filled.preset,
        "versions": newest_versions(),
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
