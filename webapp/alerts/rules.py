"""Alert rules as a form edits them, sets of them to begin with, and what a set would have raised on a recorded run."""

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
# fields that only some kinds read; all others have a meaning for every kind
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
# what a kind does with `limit`, in a few words for a rule's heading, and in a sentence for its field
KIND_WORDS: dict[Kind, tuple[str, str]] = {
    "below": ("under {limit}", "Under the limit."),
    "above": ("over {limit}", "Over the limit."),
    "falls": ("under {limit} × its start", "Under the limit times the baseline, the mean of the first readings."),
    "rises": ("over {limit} × its start", "Over the limit times the baseline, the mean of the first readings."),
    "gains": (
        "over its start by {limit}",
        "Over the baseline, the mean of the first readings, by the limit.",
    ),
    "falls_from_best": (
        "under {limit} × its best",
        "The mean of the last window of readings is under the limit times the best such mean.",
    ),
    "spike": ("over {limit} × its median", "Over the limit times the median of the window of readings before."),
    "z_score": (
        "{limit} deviations from its mean",
        "Further than so many standard deviations from the mean of the window of readings before.",
    ),
    "reward_std_collapsed": (
        "under {limit} × its start",
        "As falls, but only to watch where success holds: the problems may simply be solved.",
    ),
    "no_signal": (
        "no success and no spread",
        "No trajectory succeeded, and all in a group earned the same.",
    ),
    "template_collapse": (
        "under {limit} × its start while words stay varied",
        "As falls, while the metric under holding has not fallen.",
    ),
    "agreement": ("{limit} other rules stand", "At least so many of the rules named under among stand at once."),
}


@cache
def editor_data() -> dict[str, Any]:
    """What the editor in a browser knows: the fields of a rule, their kinds, sets of rules, and names of metrics."""
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
    """The editor of a run's page, with the rules and actions as they are now."""
    detectors = current(run).detectors
    actions = [(name, name.removesuffix("_action"), getattr(detectors, name)) for name in ACTIONS]
    return {
        "rule_editor": editor_data(),
        "rules": [rule.model_dump(mode="json") for rule in detectors.rules],
        "severity_actions": actions,
        "actions": get_args(Action),
    }


def shown_rules(rules: Any) -> list[dict[str, Any]]:
    """What the editor can show of rules that were posted and may be no rules at all."""
    if rules is None:
        return [rule.model_dump(mode="json") for rule in DetectorsConfig().rules]
    return [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []


def parsed(text: str) -> Any:
    """JSON as a browser sent it; what cannot be read stays as it is, for the engine's check to refuse."""
    try:
        return json.loads(text) if len(text) <= LONGEST else "too long"
    except (ValueError, RecursionError):
        return text[:100]


def checked(data: dict[str, Any]) -> tuple[DetectorsConfig | None, dict[str, str]]:
    """The rules and their actions, or what is wrong, by dotted field of a run's configuration."""
    try:
        return DetectorsConfig.model_validate(data), {}
    except ValidationError as error:
        return None, {f"detectors.{field}": reason for field, reason in problems_by_field(error)}


def held_out_of(run: Run) -> list[tuple[int, Metrics]]:
    """The metrics of each held-out evaluation, in order, as the engine gave them to the rules."""
    results: dict[tuple[int, bool], list[HeldOutResult]] = defaultdict(list)
    for row in run.evaluations.order_by("step", "final", "pk"):
        results[row.step, row.final].append(row)
    return [(step, held_out_metrics(rows)) for (step, _), rows in results.items()]


def trial(run: Run, detectors: DetectorsConfig) -> dict[str, Any]:
    """What the rules would have raised over the recorded steps, in order, and whether the run raised it too."""
    steps = list(run.steps.order_by("step").values_list("step", "metrics"))
    raised = set(run.alerts.values_list("step", "rule"))
    found = replay(Recording(name=run.name, steps=steps, evaluations=held_out_of(run)), detectors)
    told = [
        {
            "step": firing.step,
            "raised": (firing.step, firing.alert.rule) in raised,
            **firing.alert.event(firing.step).model_dump(include=FIRING_FIELDS),
        }
        for firing in found[:MOST_FIRINGS]
    ]
    return {"firings": told, "count": len(found), "steps": len(steps), "last": steps[-1][0] if steps else 0}
