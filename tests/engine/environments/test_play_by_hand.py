"""Playing by hand: the parser, budgets and penalties of a run, from a browser or a terminal."""

from __future__ import annotations

import io
import json
from dataclasses import asdict

import pytest

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS
from engine.errors import ConfigError
from engine.play import EpisodeByHand, play_main


def lake(**changes: object) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"kind": "frozen_lake", **changes})


def solving_names(game: EpisodeByHand) -> list[str]:
    names = game.situation().actions
    return [names[action] for action in game.episode.environment.solution() or []]


@pytest.mark.parametrize("think", [False, True])
def test_a_solved_lake_ends_with_success_and_its_reward(think: bool) -> None:
    game = EpisodeByHand(lake(max_actions_per_turn=10), seed=3, think=think)
    outcome = game.play_actions(solving_names(game))
    assert (outcome["stop"], outcome["reward"], outcome["parse"]) == ("success", 1.0, "ok")
    assert game.situation().success


def test_a_response_may_bring_its_opener_or_leave_it_to_the_game() -> None:
    with_it, without = (EpisodeByHand(lake(), seed=3, think=True) for _ in range(2))
    outcome = with_it.play("<think>right</think><answer>Right</answer>")
    assert without.play("right</think><answer>Right</answer>") == outcome
    assert (outcome["thought"], outcome["executed"], outcome["penalty"]) == ("right", ["Right"], 0.0)


@pytest.mark.parametrize(
    ("response", "case"),
    [
        ("go Left", "unclosed"),
        ("hm</think>Left", "no_answer"),
        ("hm</think><answer></answer>", "empty_answer"),
    ],
)
def test_a_malformed_response_costs_the_penalty_and_a_turn_but_no_action(response: str, case: str) -> None:
    game = EpisodeByHand(lake(), seed=3, think=True)
    outcome = game.play(response)
    assert (outcome["parse"], outcome["penalty"], outcome["executed"]) == (case, -0.1, [])
    assert (game.situation().turns_left, game.situation().actions_left) == (4, 10)


def test_an_unknown_action_costs_the_penalty_once_and_the_known_ones_are_played() -> None:
    game = EpisodeByHand(lake(max_actions_per_turn=3), seed=3)
    outcome = game.play_actions(["Jump", "fly", "left"])
    assert (outcome["parse"], outcome["penalty"], outcome["executed"]) == ("unknown_action", -0.1, ["Left"])


@pytest.mark.parametrize(("setting", "penalty"), [("mask", 0.0), ("ignore", 0.0), ("penalty", -0.1)])
def test_surplus_actions_are_left_out_and_cost_a_penalty_if_configured(setting: str, penalty: float) -> None:
    game = EpisodeByHand(lake(parameters={"frozen_probability": 1.0}, surplus_actions=setting), seed=3)
    outcome = game.play_actions(["Left", "Left", "Left"])
    assert (outcome["parse"], outcome["surplus"], outcome["penalty"]) == ("ok", 1, penalty)
    assert outcome["executed"] == ["Left", "Left"]
    assert game.play_actions(["Jump", "Left", "Left"])["penalty"] == -0.1  # malformed as well: one penalty


def test_replaying_the_responses_gives_the_same_situation_slips_included() -> None:
    config = lake(parameters={"success_rate": 0.5, "frozen_probability": 1.0})
    game = EpisodeByHand(config, seed=9)
    responses = ["Up</answer>", "Left || Down</answer>", "Right</answer>"]
    for response in responses:
        if not game.stop:
            game.play(response)
    assert EpisodeByHand.replay(config, 9, responses).situation() == game.situation()


def test_what_a_session_keeps_and_a_page_gets_is_json() -> None:
    game = EpisodeByHand(lake(), seed=3)
    outcome = game.play_actions(["Right"])
    assert json.loads(json.dumps({"outcome": outcome, "now": asdict(game.situation())}))["outcome"] == outcome
    assert outcome["frames"][0]["drawing"]["type"] == "grid"


def test_a_finished_episode_takes_no_more_responses() -> None:
    game = EpisodeByHand(lake(max_turns=1), seed=3)
    assert game.play_actions(["Right"])["stop"] == "max_turns"
    with pytest.raises(RuntimeError, match="The episode is over"):
        game.play_actions(["Right"])


def test_the_terminal_game_shows_the_rules_plays_what_is_typed_and_ends_with_the_return(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = EpisodeByHand(lake(), seed=3)
    names = solving_names(game)
    turns = [names[index : index + 2] for index in range(0, len(names), 2)]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(" || ".join(turn) + "\n" for turn in turns)))
    assert play_main(["frozen_lake", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Walk to the goal and avoid the holes.\nSymbols:")
    assert out.endswith("success, return 1\n")


def test_leaving_the_terminal_game_early_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert play_main(["sokoban"]) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["chess"], f"Choose one of: {', '.join(sorted(ENVIRONMENTS))}"),
        (["frozen_lake", "--set", "size=99"], "parameters.size"),
        (["frozen_lake", "--set", "depth=3"], "unknown field"),
        (["sokoban", "--set", "boxes=4", "--set", "rows=5"], "parameters.boxes: 4 do not fit"),
        (["frozen_lake", "--seed", "-1"], "Give 0 or more"),
    ],
)
def test_a_command_that_cannot_be_played_says_what_is_wrong(arguments: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        play_main(arguments)
