"""The adapter for TextArena, with the installed package."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from engine.environments import make_environment
from engine.environments.checker import check_environment
from engine.environments.problems import problem_id
from engine.errors import ConfigError

pytest.importorskip("textarena", reason="needs the extra textarena")

CHECKED = [
    "GuessTheNumber-v0",
    "TowerOfHanoi-v0",
    "LightsOut-v0",
    "Mastermind-v0",
    "2048-v0-3x3",
    "FrozenLake-v0-random",
]


@pytest.mark.parametrize("env_id", CHECKED)
def test_it_keeps_the_contract(env_id: str) -> None:
    assert check_environment("textarena", {"env_id": env_id}, range(4)) == []
    check_env(make_environment("textarena", env_id=env_id), skip_render_check=True)


def guess(game: Any, low: int, high: int) -> tuple[list[int], float, dict[str, Any]]:
    """Halves the range until the number is found."""
    guesses = []
    while True:
        guesses.append((low + high) // 2)
        text, reward, terminated, _, info = game.step(f"[{guesses[-1]}]")
        if terminated:
            return guesses, reward, info
        low, high = (guesses[-1] + 1, high) if "higher" in text else (low, guesses[-1] - 1)


def test_halving_finds_the_number_and_that_is_a_success() -> None:
    game = make_environment("textarena", options={"max_number": 9})
    rules, _ = game.reset(seed=4)
    assert "between 1 and 9" in rules
    guesses, reward, info = guess(game, 1, 9)
    assert len(guesses) <= 4  # 2^4 > 9
    assert (reward, info["success"]) == (1.0, True)


def test_brackets_are_added_to_text_without_any_and_an_observation_is_what_is_new() -> None:
    game = make_environment("textarena")
    rules, _ = game.reset(seed=4)
    text = game.step("20")[0]
    assert re.search("higher|lower|guessed", text)
    assert rules not in text


def test_an_invalid_action_is_none_and_a_second_one_ends_the_game() -> None:
    game = make_environment("textarena")
    game.reset(seed=4)
    text, reward, terminated, _, info = game.step("hello")
    assert "invalid" in text
    assert (reward, terminated, info["action_is_valid"]) == (0.0, False, False)
    text, reward, terminated, _, info = game.step("hello")
    assert (terminated, info["action_is_valid"], info["success"]) == (True, False, False)
    assert reward <= 0
    assert "Invalid Move" in text


def test_a_game_that_gives_a_text_for_a_reward_has_the_one_of_an_invalid_action() -> None:
    game = make_environment("textarena", env_id="Countdown-v0")
    game.reset(seed=4)
    game.step("hello")
    _, reward, terminated, _, info = game.step("hello")
    assert (reward, terminated, info["action_is_valid"]) == (-1.0, True, False)


def test_hidden_numbers_make_other_problems_of_the_same_text() -> None:
    game = make_environment("textarena", options={"max_number": 9})
    texts, problems, numbers = set(), {}, {}
    for seed in range(30):
        texts.add(game.reset(seed=seed)[0])
        problems[seed], numbers[seed] = problem_id(game), game.game.game_number  # type: ignore[attr-defined]
    assert len(texts) == 1
    assert len(set(problems.values())) == len(set(numbers.values())) > 4
    assert len({(problems[seed], numbers[seed]) for seed in numbers}) == len(set(numbers.values()))


def test_interleaved_games_are_those_of_each_alone() -> None:
    def actions(seed: int) -> list[str]:
        rng = np.random.default_rng(seed)
        return [str(rng.choice(["[up]", "[down]", "[left]", "[right]"])) for _ in range(12)]

    def alone(seed: int) -> list[str]:
        game = make_environment("textarena", env_id="2048-v0")
        return [game.reset(seed=seed)[0], *(game.step(action)[0] for action in actions(seed))]

    one, two = (make_environment("textarena", env_id="2048-v0") for _ in range(2))
    together = [[one.reset(seed=1)[0]], [two.reset(seed=2)[0]]]
    for first, second in zip(actions(1), actions(2), strict=True):
        together[0].append(one.step(first)[0])
        together[1].append(two.step(second)[0])
    assert together == [alone(1), alone(2)]


def test_chance_is_another_seed_than_the_problem() -> None:
    game = make_environment("textarena", env_id="2048-v0")
    starts, tiles = set(), set()
    for chance in range(8):
        starts.add(game.reset(seed=5, options={"chance_seed": chance})[0])
        tiles.add("".join(game.step(action)[0] for action in ("[up]", "[left]", "[down]")))
    assert len(starts) == 1
    assert len(tiles) > 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"env_id": "NoSuchGame-v0"}, "NoSuchGame-v0 not found in registry"),
        ({"options": {"nope": 1}}, "unexpected keyword argument 'nope'"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_reason(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_environment("textarena", **parameters)


@pytest.mark.parametrize("env_id", ["TicTacToe-v0", "KuhnPoker-v0", "PublicGoodsGame-v0"])
def test_a_game_of_several_players_is_refused(env_id: str) -> None:
    with pytest.raises(ConfigError, match="Use a single-player game"):
        make_environment("textarena", env_id=env_id).reset(seed=1)
