"""Playing by hand, scripted baselines and feasibility."""

from __future__ import annotations

import pytest

from engine.config import EnvironmentConfig
from engine.environments.feasibility import action_budget, feasibility
from engine.environments.players import baseline
from engine.play import EpisodeByHand


def lake(**changes: object) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"kind": "frozen_lake", **changes})


def test_a_solved_lake_ends_with_success_and_its_reward() -> None:
    game = EpisodeByHand(lake(max_actions_per_turn=10), seed=3)
    names = game.situation().actions
    outcome = game.play_actions([names[action] for action in game.episode.environment.solution() or []])
    assert (outcome["stop"], outcome["reward"], outcome["parse"]) == ("success", 1.0, "ok")
    assert game.situation().success


def test_a_malformed_reply_costs_the_penalty_and_a_turn_but_no_action() -> None:
    game = EpisodeByHand(lake(), seed=3, think=True)
    outcome = game.play("go Left")
    assert (outcome["parse"], outcome["penalty"], outcome["executed"]) == ("unclosed", -0.1, [])
    assert (game.situation().turns_left, game.situation().actions_left) == (4, 10)


def test_an_unknown_action_costs_the_penalty_and_the_known_ones_are_played() -> None:
    game = EpisodeByHand(lake(), seed=3)
    outcome = game.play_actions(["Jump", "left"])
    assert (outcome["parse"], outcome["penalty"], outcome["executed"]) == ("unknown_action", -0.1, ["Left"])


def test_replaying_the_replies_gives_the_same_situation() -> None:
    game = EpisodeByHand(lake(parameters={"success_rate": 0.5}), seed=9)
    replies = ["Up</answer>", "Left || Down</answer>"]
    for reply in replies:
        if not game.stop:
            game.play(reply)
    assert EpisodeByHand.replay(lake(parameters={"success_rate": 0.5}), 9, replies).situation() == game.situation()


def test_perfect_play_solves_what_fits_the_budget_and_chance_much_less() -> None:
    config = lake(max_turns=10, max_actions_per_turn=2, max_actions=20)
    assert baseline(config, "optimal", episodes=50).success == 1.0
    assert baseline(config, "random", episodes=200).success < 0.5


@pytest.mark.parametrize(("turns", "per_turn", "total", "expected"), [(5, 2, 10, 10), (1, 2, 10, 2), (5, 5, 7, 7)])
def test_the_action_budget_is_the_tighter_of_total_and_turns(
    turns: int, per_turn: int, total: int, expected: int
) -> None:
    assert action_budget(lake(max_turns=turns, max_actions_per_turn=per_turn, max_actions=total)) == expected


def test_a_budget_no_puzzle_fits_is_impossible_and_says_how_long_solutions_are() -> None:
    found = feasibility("sokoban", {"boxes": 3, "rows": 8, "columns": 8, "depth": 30}, 1)
    assert found.impossible
    assert "0% of 20 puzzles" in found.explain()
