"""Refuses budgets within which no problem can be solved, and warns of those that solve few."""

from __future__ import annotations

from engine.config import EnvironmentConfig
from engine.environments.feasibility import Feasibility, action_budget, feasibility

SEEDS = range(12)


def measured(config: EnvironmentConfig) -> Feasibility:
    return feasibility(config.kind, config.parameters, action_budget(config), SEEDS)


def why_infeasible(config: EnvironmentConfig) -> str:
    """Why no problem can be solved within the budget, and what to raise; empty when some can."""
    try:
        found = measured(config)
    except Exception as error:  # user code may raise anything
        return f"The environment raised {type(error).__name__} with these parameters: {error}"
    if not found.impossible:
        return ""
    room = config.max_turns * config.max_actions_per_turn
    raise_what = "max actions" if config.max_actions <= room else "max turns or max actions per turn"
    return f"No problem can be solved with this budget: {found.explain()} Raise {raise_what}."


def warning(config: EnvironmentConfig) -> str:
    """A warning about a budget that leaves many problems unsolvable; empty if it does not."""
    found = measured(config)
    return f"Many problems cannot be solved: {found.explain()}" if found.unlikely else ""
