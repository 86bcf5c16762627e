"""Settings of a run that its Collapse, Filter and Rollouts views need to say what they show, or why nothing."""

from __future__ import annotations

from typing import Any

from engine.config import RunConfig


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
    }
