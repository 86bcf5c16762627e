"""Refuses budgets within which no problem can be solved. What is not known is not refused."""

from __future__ import annotations

import logging

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from engine.environments.feasibility import SolutionLengths, action_budget, feasibility_of
from webapp.environments import calls

log = logging.getLogger(__name__)


def why_infeasible(config: EnvironmentConfig) -> str:
    """Why no problem can be solved within the budget, and what to raise; empty when some can, or when it is unknown."""
    try:
        measured = SolutionLengths(**calls.ask("lengths", config))
    except CallFailed as error:
        if error.unasked:
            log.warning("The budget of %s is not checked: %s", config.tag, error)
            return ""
        return str(error)
    found = feasibility_of(measured, action_budget(config))
    if not found.impossible:
        return ""
    room = config.max_turns * config.max_actions_per_turn
    raise_what = "max actions" if config.max_actions <= room else "max turns or max actions per turn"
    return f"No problem can be solved with this budget: {found.explain()} Raise {raise_what}."
