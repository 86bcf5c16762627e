"""A trajectory is solved if one of its actions solved the problem, whatever comes after it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.environments.frozen_lake import FrozenLake
from engine.environments.registry import ENVIRONMENTS
from tests.engine.rollout.builders import lake_config, say

DOWN = "go</think><answer>Down</answer>"


class SolvedInPassing(FrozenLake):
    """Its second action solves the problem, and the episode goes on."""

    actions = 0

    def step(self, action: Any) -> Any:
        observation, reward, _, truncated, info = super().step(action)
        self.actions += 1
        return observation, reward, False, truncated, {**info, "success": self.actions == 2}


@pytest.mark.parametrize(("turns", "solved"), [(1, False), (2, True), (4, True)])
def test_an_action_that_solved_the_problem_counts_to_the_end(
    monkeypatch: pytest.MonkeyPatch, turns: int, solved: bool
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"{__name__}:SolvedInPassing")
    rollout = {"groups": 1, "group_size": 2}
    played = say(lake_config(rollout=rollout, max_turns=turns), [DOWN])
    assert [len(one.turns) for one in played] == [turns, turns]
    assert [one.success for one in played] == [solved, solved]
