"""Whether an environment's problems can be solved within the action budget. Checked before a run is launched."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from engine.config import EnvironmentConfig, RunConfig
from engine.environments.base import UNKNOWN, Environment, Solution
from engine.environments.guard import LimitExceeded, call_within
from engine.environments.registry import make_environment
from engine.errors import ConfigError, StarboardError

WARN_BELOW = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """Of `problems` sampled problems with a known answer, the share solvable within the budget, and lengths of shortest
    solutions. Of `unknown` further ones it is not known; where it is known of none, nothing is concluded."""

    problems: int
    unknown: int = 0
    solvable_share: float
    median_length: float
    longest: int
    budget: int

    @property
    def impossible(self) -> bool:
        return self.problems > 0 and self.solvable_share == 0

    @property
    def unlikely(self) -> bool:
        return self.problems > 0 and self.solvable_share < WARN_BELOW

    def explain(self) -> str:
        if not self.problems:
            return "It is not known how many problems can be solved: the environment has no solver."
        share = f"{self.solvable_share:.0%} of {self.problems} problems can be solved in {_count(self.budget)}"
        if not self.longest:
            return f"{share}; no solution was found for any."
        return f"{share}; shortest solutions take {self.median_length:g} (median) to {self.longest} (longest) actions."


def _count(actions: int) -> str:
    return "1 action" if actions == 1 else f"{actions} actions"


def action_budget(config: EnvironmentConfig) -> int:
    """The actions available to a trajectory, limited in total and by its turns."""
    return min(config.max_actions, config.max_turns * config.max_actions_per_turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionLengths:
    """Of problems with a known answer the lengths of shortest solutions, None where there is none; and the number of
    problems of which nothing is known."""

    lengths: list[int | None]
    unknown: int


def solution_lengths(environment: Environment, seeds: Iterable[int]) -> SolutionLengths:
    """Measures solutions of the problems of `seeds`, without slips."""
    found = [_solution(environment, seed) for seed in seeds]
    known = [None if solution is None else len(solution) for solution in found if solution is not UNKNOWN]
    return SolutionLengths(lengths=known, unknown=len(found) - len(known))


def feasibility_of(measured: SolutionLengths, max_actions: int) -> Feasibility:
    lengths = [length for length in measured.lengths if length is not None]
    return Feasibility(
        problems=len(measured.lengths),
        unknown=measured.unknown,
        solvable_share=sum(length <= max_actions for length in lengths) / max(1, len(measured.lengths)),
        median_length=statistics.median(lengths) if lengths else 0.0,
        longest=max(lengths, default=0),
        budget=max_actions,
    )


def feasibility(
    kind: str, parameters: dict[str, Any], max_actions: int, seeds: Iterable[int] = range(20)
) -> Feasibility:
    """Whether the problems of `seeds` (at least one) can be solved in `max_actions`, without slips."""
    with closing(make_environment(kind, **parameters)) as environment:
        return feasibility_of(solution_lengths(environment, seeds), max_actions)


def _solution(environment: Environment, seed: int) -> Solution:
    environment.reset(seed=seed)
    return environment.solution()


def require_solvable(config: RunConfig, *, check_cancelled: Callable[[], None] = lambda: None) -> None:
    """`ConfigError` if none of an environment's problems can be solved within its budget.

    An environment that raises or exceeds its limits is not judged: rollouts report and count its faults.
    """
    for environment in config.environments:
        found = _within_limits(environment, check_cancelled)
        if found is not None and found.impossible:
            raise ConfigError(
                f"{environment.tag} cannot be solved within its budget: {found.explain()}",
                remedy="Raise max_turns, max_actions_per_turn or max_actions, or make the problems smaller.",
            )


def _within_limits(environment: EnvironmentConfig, check_cancelled: Callable[[], None]) -> Feasibility | None:
    """None if it failed. An error with a remedy, such as a missing package, is raised."""

    def measure() -> Feasibility | None:
        try:
            return feasibility(environment.kind, environment.parameters, action_budget(environment))
        except StarboardError:
            raise
        except (Exception, SystemExit):
            return None

    seconds = environment.limits.construct_seconds + environment.limits.reset_seconds
    try:
        return call_within(seconds, measure, check_cancelled=check_cancelled)
    except LimitExceeded:
        return None
