"""Budgets that cannot solve any problem are refused, those that solve few are warned of."""

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
    except Exception as error:  # an environment is somebody's code, and may raise anything
        return f"The environment raised {type(error).__name__} with these parameters: {error}"
    if not found.impossible:
        return ""
    room = config.max_turns * config.max_actions_per_turn
    raise_what = "max actions" if config.max_actions <= room else "max turns or max actions per turn"
    return f"No problem can be solved with this budget: {found.explain()} Raise {raise_what}."


def warning(config: EnvironmentConfig) -> str:
    """What to know of a budget that leaves many problems without a solution; empty when it does not."""
    found = measured(config)
    return f"Many problems cannot be solved: {found.explain()}" if found.unlikely else ""
