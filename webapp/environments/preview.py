"""The preview next to the form, as JSON: first states, the exact first prompt, scripted players."""

from __future__ import annotations

from typing import Any

from engine.config import EnvironmentConfig
from engine.environments.feasibility import action_budget
from engine.rollout.prompts import first_prompt
from webapp.environments.facts import baselines, first_states
from webapp.environments.limits import warning

SEEDS = 4


def states(config: EnvironmentConfig, first_seed: int) -> dict[str, Any]:
    """First states of some seeds, and the prompt of the first of them as a run would send it."""
    seeds = [first_seed + index for index in range(SEEDS)]
    return {
        "states": first_states(config, seeds),
        "prompt": first_prompt(config, think=True, seed=first_seed),
        "action_budget": action_budget(config),
        "warning": warning(config),
    }


def players(config: EnvironmentConfig, first_seed: int) -> dict[str, Any]:
    return {"baselines": baselines(config)}


PARTS = {"states": states, "baselines": players}
