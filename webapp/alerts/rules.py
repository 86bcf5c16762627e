"""Alert rules for the editor, presets, and the alerts that rules would have raised on a recorded run."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
from functools import cache
from typing import Any, get_args

from pydantic import ValidationError

from engine.config import DetectorsConfig, problems_by_field
from engine.diagnostics.alerts import Metrics
from engine.diagnostics.held_out import HeldOutResult, held_out_metrics
from engine.diagnostics.recordings import Recording, replay
from engine.diagnostics.rule_config import LIMITS, SMOOTHED, Action, Kind, RuleConfig
from engine.diagnostics.rule_presets import RULE_PRESETS
from engine.metrics import GLOSSARY
from webapp.forms.fields import field_of
from webapp.runs.live_settings import current
from webapp.runs.models import Run

LONGEST = 256 * 1024
MOST_FIRINGS = 500
FIRING_FIELDS = {"rule", "severity", "message", "metric", "value", "baseline", "since", "action"}
ACTIONS = ("watch_action", "warn_action", "critical_action", "dead_action")
BASELINE: tuple[Kind, ...] = ("falls", "rises", "gains", "reward_std_collapsed", "template_collapse")
# fields that only some kinds read; every kind reads the others
READ_BY: dict[str, tuple[Kind, ...]] = {
    "limit": tuple(kind for kind in LIMITS if kind != "no_signal"),
    "mean_over": SMOOTHED,
    "window": ("falls_from_best", "spike", "z_score"),
    "baseline": BASELINE,
    "floor": ("falls", "rises", "reward_std_collapsed", "template_collapse", "falls_from_best", "z_score"),
    "holding": ("template_collapse",),
    "holding_limit": ("template_collapse",),
    "among": ("agreement",),
}
# condition of each kind: short for the heading of a rule, and as a sentence for its field
KIND_WORDS: dict[Kind, tuple[str, str]] = {
    "below": ("below {limit}", "Below the limit."),
    "above": ("above {limit}", "Above the limit."),
    "falls": ("below {limit} × its baseline", "Below the limit times the baseline, the mean of the first readings."),
    "rises": ("above {limit} × its baseline", "Above the limit times the baseline, the mean of the first readings."),
    "gains": (
        "{limit} above its baseline",
        "Above the baseline, the mean of the first readings, by the limit.",
    ),
    "falls_from_best": (
        "below {limit} × its best",
        "The mean of the last window of readings is below the limit times the best such mean.",
    ),
    "spike": ("above {limit} × its median", "Above the limit times the median of the window of readings before."),
    "z_score": (
        "{limit} std from its mean",
        "More than so many standard deviations from the mean of the window of readings before.",
    ),
    "reward_std_collapsed": (
        "below {limit} × its baseline",
        "Like falls, with severity watch while success holds: the problems may be solved.",
    ),
    "no_signal": (
        "no success and equal returns",
        "No trajectory succeeded, and returns within every group are equal.",
    ),
    "template_collapse": (
        "below {limit} × its baseline while entropy holds",
        "Like falls, while the metric under holding has not fallen.",
    ),
    "agreement": ("{limit} other rules fire", "At least so many of the rules named under among fire at once."),
}


@cache
def editor_data() -> dict[str, Any]:
    """Data of the editor in the browser: fields of a rule, kinds, presets and names of metrics."""
    return {
        "fields": [_field(name) for name in RuleConfig.model_fields],
        "kinds": KIND_WORDS,
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


def _field(name: str) -> dict[str, Any]:
    found = asdict(field_of(name, RuleConfig.model_fields[name]))
    if name == "action":
        found |= {"kind": "choice", "choices": ["by_severity", *get_args(Action)]}
    known = ("name", "label", "help", "kind", "choices")
    default = RuleConfig.model_fields[name].get_default()
    return {key: found[key] for key in known} | {
        "default": [] if name == "among" else default if isinstance(default, str | int | float) else "",
        "kinds": list(READ_BY.get(name, ())),
    }


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
    for row in run.evaluations.order_by("step", "final", "pk"):
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
