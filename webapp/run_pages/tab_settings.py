"""Settings of a run that its Collapse, Filter and Rollouts views need to say what they show, or why nothing."""

from __future__ import annotations

from typing import Any

from engine.config import RunConfig
from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import RuleConfig

AGAINST_TEMPLATES = "template_collapse"


def watching_facts(config: RunConfig) -> dict[str, Any]:
    """By the names that the scripts use."""
    diagnostics = config.diagnostics
    return {
        "think": config.rollout.think,
        "groups": config.rollout.groups,
        "groupSize": config.rollout.group_size,
        "every": diagnostics.every,
        "gradientsEvery": diagnostics.gradients_every,
        "templateSimilarity": diagnostics.template_similarity,
        "entropyCoefficient": config.loss.entropy_coefficient,
        "klCoefficient": config.loss.kl_coefficient,
        "filter": config.filter.model_dump(mode="json"),
        "environments": [
            {
                "tag": environment.tag,
                "maxTurns": environment.max_turns,
                "maxResponseTokens": environment.max_response_tokens,
            }
            for environment in config.environments
        ],
        "rule": _rule(config),
    }


def _rule(config: RunConfig) -> dict[str, Any]:
    """The run's rule against template collapse, whose limits are the borders of the map; else the default one."""
    own = _against_templates(config.detectors.rules)
    [rule] = (own or _against_templates(DEFAULT_RULES))[:1]
    fields = ("name", "limit", "holding_limit", "baseline", "floor")
    return {"own": bool(own), **{name: getattr(rule, name) for name in fields}}


def _against_templates(rules: tuple[RuleConfig, ...]) -> list[RuleConfig]:
    return [rule for rule in rules if rule.kind == AGAINST_TEMPLATES]
