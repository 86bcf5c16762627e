"""Measures an environment over many seeds: distinct problems, rewards, solutions and speed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from engine.config import EnvironmentConfig
from engine.environments.base import UNKNOWN, Environment
from engine.environments.problems import problem_id
from engine.environments.registry import environment_of
from engine.environments.watch import TimeLimit, Watch

SEEDS = 200
SOLVING_SECONDS = 20.0  # after that, solutions count as unknown
MOST_STEPS = 50  # of a random episode


@dataclass(slots=True, kw_only=True)
class Measurements:
    """`lengths` are those of shortest solutions; of `unknown` problems none is known, and `impossible` ones have none.
    Rewards are of single steps, by random actions and by solutions; the ends of `returns` are whole episodes'."""

    seeds: int = 0
    problems: set[int] = field(default_factory=set)
    lengths: list[int] = field(default_factory=list)
    unknown: int = 0
    impossible: int = 0
    rewards: set[float] = field(default_factory=set)
    returns: list[float] = field(default_factory=list)
    reset_seconds: float = 0.0
    steps: int = 0
    step_seconds: float = 0.0

    def lines(self) -> list[str]:
        """The summary, one sentence a line."""
        return [self._about_problems(), self._about_solutions(), self._about_rewards(), self._about_speed()]

    def _about_problems(self) -> str:
        if len(self.problems) == 1:
            return (
                f"All {self.seeds} seeds have the same problem: evaluation cannot use problems that training does not."
            )
        return f"Problems: {len(self.problems)} distinct ones over {self.seeds} seeds."

    def _about_solutions(self) -> str:
        if self.unknown == self.seeds:
            return "Solutions: unknown; the environment has no solver, or the solver gives up."
        shares = [f"{len(self.lengths) / self.seeds:.0%} of problems can be solved"]
        if self.impossible:
            shares.append(f"{self.impossible / self.seeds:.0%} cannot")
        if self.unknown:
            shares.append(f"of {self.unknown / self.seeds:.0%} it is unknown")
        text = f"Solutions: {', '.join(shares)}."
        if not self.lengths:
            return text
        low, high = min(self.lengths), max(self.lengths)
        if low == high:
            return f"{text} Each shortest solution takes {low} action{'s' if low != 1 else ''}."
        middle = statistics.median(self.lengths)
        return f"{text} Shortest solutions take {low} to {high} actions, {middle:g} in the median."

    def _about_rewards(self) -> str:
        if not self.rewards:
            return "Rewards: no step was made."
        return (
            f"Rewards: {min(self.rewards):g} to {max(self.rewards):g} per step, "
            f"{min(self.returns):g} to {max(self.returns):g} per episode."
        )

    def _about_speed(self) -> str:
        resets, steps = _rate(self.seeds, self.reset_seconds), _rate(self.steps, self.step_seconds)
        return f"Speed: {resets} resets and {steps} steps per second."


def measure(config: EnvironmentConfig, *, seeds: int = SEEDS, watch: Watch | None = None) -> Measurements:
    """Starts each of `seeds` problems, asks for its solution, plays that, and then a random episode; fewer seeds where
    the time is over. `TimeLimit` for a call that exceeds its limit, or if there was no time for one seed."""
    found = Measurements()
    watch = watch or Watch(config.limits)
    try:
        watch.perform(partial(_measure_problems, config, seeds, watch, found))
    except TimeLimit as exceeded:
        if not exceeded.of_all or not found.seeds:
            raise
    return found


def _measure_problems(config: EnvironmentConfig, seeds: int, watch: Watch, found: Measurements) -> None:
    until = time.monotonic() + SOLVING_SECONDS
    with closing(watch.make(lambda: environment_of(config))) as environment:
        for seed in range(seeds):
            if watch.is_over():
                break
            _measure_problem(environment, seed, found, solve=time.monotonic() < until)


def _measure_problem(environment: Environment, seed: int, found: Measurements, *, solve: bool) -> None:
    started = time.perf_counter()
    environment.reset(seed=seed)
    found.reset_seconds += time.perf_counter() - started
    found.seeds += 1
    found.problems.add(problem_id(environment))
    solution = environment.solution() if solve else UNKNOWN
    if solution is UNKNOWN:
        found.unknown += 1
    elif solution is None:
        found.impossible += 1
    else:
        found.lengths.append(len(solution))
        _play(environment, [environment.name_of(action) for action in solution], found)
    environment.reset(seed=seed)
    rng = np.random.default_rng(seed)
    _play(environment, (environment.random_action(rng) for _ in range(MOST_STEPS)), found)


def _play(environment: Environment, texts: Iterable[str], found: Measurements) -> None:
    total = 0.0
    for text in texts:
        action = environment.resolve(text)
        if action is None:  # the names of actions have changed by chance
            break
        started = time.perf_counter()
        _, reward, terminated, truncated, _ = environment.step(action)
        found.step_seconds += time.perf_counter() - started
        found.steps += 1
        found.rewards.add(float(reward))
        total += float(reward)
        if terminated or truncated:
            break
    found.returns.append(total)


def _rate(count: int, seconds: float) -> str:
    """Two digits, as more would not be the same next time."""
    rate = count / max(seconds, 1e-9)
    if rate < 10:
        return f"{rate:.1f}"
    return f"{round(rate, 2 - len(str(int(rate)))):,.0f}"
