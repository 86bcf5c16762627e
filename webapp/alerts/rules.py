"""Alert rules for the editor, presets, and the alerts that rules would have raised on a recorded run."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from engine.config import DetectorsConfig, problems_by_field
from engine.diagnostics.alerts import Metrics
from engine.diagnostics.held_out import HeldOutResult, held_out_metrics
from engine.diagnostics.recordings import Recording, replay
from engine.diagnostics.rule_config import RULE_CONFIGS, Action, RuleBase, RuleConfig
from engine.diagnostics.rule_presets import RULE_PRESETS
from engine.metrics import GLOSSARY
from webapp.forms.fields import FormField, Variant, all_fields, union_node
from webapp.runs.live_settings import current
from webapp.runs.models import Run

LONGEST = 256 * 1024
MOST_FIRINGS = 500
FIRING_FIELDS = {"rule", "severity", "message", "metric", "value", "baseline", "since", "action"}
ACTIONS = ("watch_action", "warn_action", "critical_action", "dead_action")
# order of a rule's fields in the editor; the others follow
FIRST = ("name", "kind", "metric", "limit", "steps", "severity", "action", "cooldown")


@cache
def editor_data() -> dict[str, Any]:
    """Data of the editor in the browser: kinds with their fields, presets and names of metrics."""
    union = union_node("rule", RuleConfig)
    return {
        "kinds": {variant.type: _kind(union.choice, variant) for variant in union.variants},
        "presets": {
            key: {
                "title": preset.title,
                "description": preset.description,
                "rules": [rule.model_dump(mode="json") for rule in preset.rules],
            }
            for key, preset in RULE_PRESETS.items()
        },
        "metrics": sorted(name for name in GLOSSARY if "<" not in name),
    }


def _kind(choice: FormField, variant: Variant) -> dict[str, Any]:
    """A kind's condition for the heading of a rule, and its fields; the help of the choice describes the kind."""
    model = RULE_CONFIGS[variant.type]
    kind = replace(choice, label="Kind", help=inspect.cleandoc(model.__doc__ or ""))
    fields = sorted((_field(one, model) for one in (kind, *all_fields(variant.nodes))), key=_position)
    return {"condition": model.condition, "fields": fields}


def _field(field: FormField, model: type[RuleBase]) -> dict[str, Any]:
    name = field.name.removeprefix("rule.")
    default = model.model_fields[name].get_default()
    return {
        "name": name,
        "label": field.label,
        "help": field.help,
        "kind": field.kind,
        "choices": field.choices,
        "default": [] if field.kind == "json" else "" if default is PydanticUndefined else default,
    }


def _position(field: dict[str, Any]) -> int:
    return FIRST.index(field["name"]) if field["name"] in FIRST else len(FIRST)


def rules_of(run: Run) -> dict[str, Any]:
    """The editor on a run's page, with the current rules and actions."""
    detectors = current(run).detectors
    actions = [(name, name.removesuffix("_action"), getattr(detectors, name)) for name in ACTIONS]
    return {
        "rule_editor": editor_data(),
        "rules": [rule.model_dump(mode="json") for rule in detectors.rules],
        "severity_actions": actions,
        "actions": get_args(Action),
    }


def shown_rules(rules: Any) -> list[dict[str, Any]]:
    """Posted rules as far as the editor can show them; they may be invalid."""
    if rules is None:
        return [rule.model_dump(mode="json") for rule in DetectorsConfig().rules]
    return [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []


def parsed(text: str) -> Any:
    """Posted JSON; text that is not JSON is returned as it is, for validation to refuse."""
    try:
        return json.loads(text) if len(text) <= LONGEST else "too long"
    except (ValueError, RecursionError):
        return text[:100]


def checked(data: dict[str, Any]) -> tuple[DetectorsConfig | None, dict[str, str]]:
    """Rules and actions, or errors by dotted field of a run's configuration."""
    try:
        return DetectorsConfig.model_validate(data), {}
    except ValidationError as error:
        return None, {f"detectors.{field}": reason for field, reason in problems_by_field(error, DetectorsConfig)}


def held_out_of(run: Run) -> list[tuple[int, Metrics]]:
    """The metrics of each held-out evaluation, in order, as the rules read them."""
    results: dict[tuple[int, bool], list[HeldOutResult]] = defaultdict(list)
    for row in run.evaluations.filter(requested=False).order_by("step", "final", "pk"):
        results[row.step, row.final].append(row)
    return [(step, held_out_metrics(rows)) for (step, _), rows in results.items()]


def trial(run: Run, detectors: DetectorsConfig) -> dict[str, Any]:
    """The alerts that the rules would have raised on the recorded steps, and whether the run raised them too."""
    steps = list(run.steps.order_by("step").values_list("step", "metrics"))
    raised = set(run.alerts.values_list("step", "rule"))
    found = replay(Recording(name=run.name, steps=steps, evaluations=held_out_of(run)), detectors)
    firings = [
        {
            "step": firing.step,
            "raised": (firing.step, firing.alert.rule) in raised,
            **firing.alert.event(firing.step).model_dump(include=FIRING_FIELDS),
        }
        for firing in found[:MOST_FIRINGS]
    ]
    return {"firings": firings, "count": len(found), "steps": len(steps), "last": steps[-1][0] if steps else 0}
