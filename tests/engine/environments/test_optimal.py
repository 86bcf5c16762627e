"""Optimal play beside a recorded trajectory: the shortest way, and how far from success each of its states was."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.optimal import UNSOLVABLE, actions_to_go, optimal_play

# 3 x 3, no hole: any seed's shortest way is the distance in rows and columns
LAKE = {"kind": "frozen_lake", "parameters": {"size": 3, "frozen_probability": 1.0}}
OPPOSITE = {"Left": "Right", "Right": "Left", "Up": "Down", "Down": "Up"}


def config(**changes: Any) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({**LAKE, **changes})


def first_state(chosen: EnvironmentConfig, seed: int) -> dict[str, Any]:
    environment = make_environment(chosen.kind, **chosen.parameters)
    environment.reset(seed=seed)
    return environment.drawing()


@pytest.mark.parametrize("kind", ["frozen_lake", "sokoban", "bandit"])
def test_every_kind_s_best_play_is_replayed_to_success(kind: str) -> None:
    chosen = EnvironmentConfig.model_validate({"kind": kind})
    play = optimal_play(chosen, 3, first_state(chosen, 3))
    assert play is not None
    assert len(play.drawings) == len(play.actions) + 1
    turns = [[(action, drawing)] for action, drawing in zip(play.actions, play.drawings[1:], strict=True)]
    # each action of a shortest way comes one nearer
    assert actions_to_go(chosen, 3, turns) == list(range(len(play.actions), -1, -1))


def test_a_lake_that_slips_is_solved_as_if_it_did_not() -> None:
    slippery = config(parameters={"size": 3, "frozen_probability": 1.0, "success_rate": 0.4})
    assert optimal_play(slippery, 5, first_state(slippery, 5)) == optimal_play(config(), 5, first_state(config(), 5))


def test_a_problem_that_is_not_the_recorded_one_has_no_best_play() -> None:
    assert optimal_play(config(), 5, first_state(config(), 6)) is None
    assert optimal_play(config(), 5, None) is None


def test_a_step_back_costs_two() -> None:
    play = optimal_play(config(), 1, first_state(config(), 1))
    assert play is not None and len(play.actions) >= 2
    there, back = play.actions[0], OPPOSITE[play.actions[0]]
    turns = [[(there, play.drawings[1]), (back, play.drawings[0])], [(there, play.drawings[1])]]
    length = len(play.actions)
    assert actions_to_go(config(), 1, turns) == [length, length, length - 1]


def test_after_a_slip_nothing_is_guessed() -> None:
    play = optimal_play(config(), 5, first_state(config(), 5))
    assert play is not None
    slipped = [[(play.actions[0], play.drawings[0])], [(play.actions[0], play.drawings[1])]]
    assert actions_to_go(config(), 5, slipped) == [len(play.actions), None, None]
    assert actions_to_go(config(), 5, [[("Jump", None)]])[1] is None


def test_a_hole_cannot_be_left() -> None:
    chosen = EnvironmentConfig.model_validate(
        {"kind": "frozen_lake", "parameters": {"size": 4, "frozen_probability": 0.5}}
    )
    for seed in range(50):
        environment = make_environment(chosen.kind, **chosen.parameters)
        environment.reset(seed=seed)
        for index, name in enumerate(environment.action_names()):
            environment.reset(seed=seed)
            environment.step(index)
            if environment.drawing()["agent_state"] == "in_hole":
                assert actions_to_go(chosen, seed, [[(name, environment.drawing())]])[1] == UNSOLVABLE
                return
    raise AssertionError("no seed has a hole beside its start")


def test_a_search_that_takes_too_long_is_left_unknown() -> None:
    play = optimal_play(config(), 5, first_state(config(), 5))
    assert play is not None
    turns = [[(play.actions[0], play.drawings[1])]]
    assert actions_to_go(config(), 5, turns, seconds=-1.0) == [len(play.actions), None]
