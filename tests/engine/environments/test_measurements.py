"""What `check-env` measures over many seeds."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import EnvironmentConfig
from engine.environments.bandit import Bandit
from engine.environments.base import UNKNOWN
from engine.environments.frozen_lake import FrozenLake
from engine.environments.measurements import Measurements, measure
from engine.environments.registry import ENVIRONMENTS


def config(kind: str, **parameters: Any) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"kind": kind, "parameters": parameters})


def test_problems_solutions_and_rewards_of_the_lake_are_measured() -> None:
    found = measure(config("frozen_lake", size=3), seeds=20)
    assert found.seeds == 20 and 1 < len(found.problems) <= 20
    assert len(found.lengths) == 20 and not found.unknown and not found.impossible
    assert found.rewards == {0.0, 1.0}
    assert len(found.returns) == 40  # a solution and a random episode of each
    assert found.steps >= sum(found.lengths)


def test_an_environment_whose_seeds_have_one_problem_says_so() -> None:
    found = measure(config("gymnasium", env_id="CliffWalking-v1"), seeds=5)
    assert found.lines()[0] == (
        "All 5 seeds have the same problem: evaluation cannot use problems that training does not."
    )


class Mixed(FrozenLake):
    """Of four seeds one is solvable in two steps, one is impossible, and two are unknown."""

    def reset(self, **given: Any) -> Any:
        self.given = given["seed"] % 4
        return super().reset(**given)

    def solution(self) -> Any:
        return {0: [1, 2], 1: None}.get(self.given, UNKNOWN)


def test_unknown_and_impossible_are_counted_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"{__name__}:Mixed")
    found = measure(config("frozen_lake", frozen_probability=1.0), seeds=8)
    assert found.lines()[1] == (
        "Solutions: 25% of problems can be solved, 25% cannot, of 50% it is unknown. Each shortest solution takes 2 "
        "actions."
    )


def test_an_environment_without_a_solver_says_that_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bandit, "solution", lambda self: UNKNOWN)
    lines = measure(config("bandit"), seeds=3).lines()
    assert lines[1] == "Solutions: unknown; the environment has no solver, or the solver gives up."


def test_speed_has_two_digits() -> None:
    # 200 resets in 0.0163 s are 12,270 a second; 3 steps in 0.7 s are 4.3
    found = Measurements(seeds=200, problems={1}, unknown=200, reset_seconds=0.0163, steps=3, step_seconds=0.7)
    assert found.lines()[-1] == "Speed: 12,000 resets and 4.3 steps per second."
    assert found.lines()[2] == "Rewards: no step was made."
