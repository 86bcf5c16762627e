"""2048: merges, new tiles by chance, RAGEN's rewards, and a scripted player that reaches the target."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.base import UNKNOWN
from engine.environments.board_2048 import Row, best_move, legal_moves, move, slide
from engine.environments.game_2048 import Game2048Parameters
from engine.environments.players import baseline

UP, RIGHT, DOWN, LEFT = range(4)


@pytest.mark.parametrize(
    ("row", "slid", "gained"),
    [
        ((2, 2, 2, 2), (4, 4, 0, 0), 8),
        ((4, 2, 2, 0), (4, 4, 0, 0), 4),
        ((2, 2, 4, 8), (4, 4, 8, 0), 4),
        ((0, 2, 0, 2), (4, 0, 0, 0), 4),
        ((2, 4, 2, 4), (2, 4, 2, 4), 0),
        ((4, 2, 2, 4), (4, 4, 4, 0), 4),
        ((2, 2, 2), (4, 2, 0), 4),
        ((0, 0, 0, 0), (0, 0, 0, 0), 0),
    ],
)
def test_a_tile_merges_once_and_pairs_nearest_the_edge_first(row: Row, slid: Row, gained: int) -> None:
    assert slide(row) == (slid, gained)


def test_a_move_slides_every_line_to_its_side() -> None:
    board = ((2, 2, 2, 0), (0, 0, 0, 2), (0, 4, 0, 0), (0, 4, 0, 2))
    assert move(board, RIGHT) == (((0, 0, 2, 4), (0, 0, 0, 2), (0, 0, 0, 4), (0, 0, 4, 2)), 4)
    assert move(board, LEFT) == (((4, 2, 0, 0), (2, 0, 0, 0), (4, 0, 0, 0), (4, 2, 0, 0)), 4)
    # columns from above: 2; 2 4 4; 2; 2 2
    assert move(board, UP) == (((2, 2, 2, 4), (0, 8, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)), 12)
    assert move(board, DOWN) == (((0, 0, 0, 0), (0, 0, 0, 0), (0, 2, 0, 0), (2, 8, 2, 4)), 12)


def test_a_full_board_without_equal_neighbours_has_no_move() -> None:
    assert legal_moves(((2, 4), (4, 2))) == ()
    assert best_move(((2, 4), (4, 2))) is None
    assert legal_moves(((2, 4), (2, 8))) == (UP, DOWN)


def test_a_new_tile_appears_exactly_when_the_board_changed() -> None:
    environment = make_environment("game_2048", unchanged_reward=-0.1)
    environment.reset(seed=1)
    environment.board = ((2, 4, 0, 0), (8, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))  # type: ignore[attr-defined]
    before = environment.render()
    observation, reward, _, _, info = environment.step(LEFT)
    assert (observation, reward, info["action_is_effective"], info["action_is_valid"]) == (before, -0.1, False, True)
    _, _, _, _, info = environment.step(RIGHT)
    tiles = [tile for row in environment.board for tile in row if tile]  # type: ignore[attr-defined]
    assert info["action_is_effective"] is True
    assert sorted(tiles)[1:] == [2, 4, 8] or sorted(tiles) == [2, 4, 4, 8]


@pytest.mark.parametrize(
    ("log_reward", "reward"),
    [(True, 0.1 * math.log2(13)), (False, 12.0)],
)
def test_merged_tiles_are_the_reward(log_reward: bool, reward: float) -> None:
    environment = make_environment("game_2048", log_reward=log_reward)
    environment.reset(seed=1)
    environment.board = ((2, 2, 0, 0), (4, 4, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))  # type: ignore[attr-defined]
    _, earned, _, _, info = environment.step(LEFT)
    assert earned == pytest.approx(reward)
    assert (info["score"], info["max_tile"]) == (12, 8)


def test_a_move_without_a_merge_earns_nothing() -> None:
    environment = make_environment("game_2048")
    environment.reset(seed=1)
    environment.board = ((0, 2, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))  # type: ignore[attr-defined]
    assert environment.step(LEFT)[1] == 0.0


@pytest.mark.parametrize(("stop", "over"), [(True, True), (False, False)])
def test_the_target_is_a_success_and_ends_the_episode_if_asked_to(stop: bool, over: bool) -> None:
    environment = make_environment("game_2048", target=32, stop_at_target=stop)
    environment.reset(seed=1)
    environment.board = ((16, 16, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))  # type: ignore[attr-defined]
    _, _, terminated, truncated, info = environment.step(LEFT)
    assert (terminated, truncated, info["success"]) == (over, False, True)
    assert environment.solution() == ([] if over else UNKNOWN)


def test_a_board_without_a_move_ends_the_episode_unsolved() -> None:
    environment = make_environment("game_2048", size=2, target=32, two_probability=1)
    environment.reset(seed=1)
    environment.board = ((8, 8), (4, 8))  # type: ignore[attr-defined]
    # left gives 16 and, in the only empty cell, a new 2: 16 2 / 4 8
    observation, _, terminated, _, info = environment.step(LEFT)
    assert (observation, terminated, info["success"]) == ("16 2\n4 8\nMoves: none", True, False)
    assert environment.solution() is None


def test_new_tiles_are_2_with_their_probability_and_in_every_empty_cell() -> None:
    environment = make_environment("game_2048", size=3)
    twos, cells = 0, set()
    for chance_seed in range(1000):
        environment.reset(seed=3, options={"chance_seed": chance_seed})
        environment.board = ((4, 4, 0), (0, 0, 0), (0, 0, 0))  # type: ignore[attr-defined]
        environment.step(LEFT)
        cells.add(environment.new_cell)  # type: ignore[attr-defined]
        twos += sum(row.count(2) for row in environment.board)  # type: ignore[attr-defined]
    # standard deviation of the share: sqrt(0.9 * 0.1 / 1000) = 0.0095
    assert twos / 1000 == pytest.approx(0.9, abs=0.04)
    assert cells == {(r, c) for r in range(3) for c in range(3)} - {(0, 0)}


def test_chance_decides_new_tiles_and_the_seed_the_first_board() -> None:
    environment = make_environment("game_2048")

    def boards(chance_seed: int) -> list[str]:
        seen = [environment.reset(seed=5, options={"chance_seed": chance_seed})[0]]
        return [*seen, *(environment.step(action)[0] for action in (LEFT, UP, RIGHT, DOWN))]

    assert boards(1) == boards(1)
    assert boards(1)[0] == boards(2)[0]
    assert boards(1) != boards(2)


def test_the_observation_has_the_rows_and_the_moves_that_change_them() -> None:
    environment = make_environment("game_2048", size=3)
    environment.reset(seed=1)
    environment.board = ((2, 0, 0), (16, 0, 0), (128, 0, 0))  # type: ignore[attr-defined]
    assert environment.render() == "2 _ _\n16 _ _\n128 _ _\nMoves: Right"
    quiet = make_environment("game_2048", size=3, list_moves=False)
    assert quiet.reset(seed=1)[0].count("\n") == 2


def test_the_scripted_player_reaches_targets_that_a_random_one_seldom_does() -> None:
    config = EnvironmentConfig.model_validate(
        {"kind": "game_2048", "parameters": {"size": 3, "target": 64}, "max_turns": 100, "max_actions": 100}
    )
    # measured over 100 games: 0.96 against 0.1
    assert baseline(config, "scripted", episodes=20).success > 0.7
    assert baseline(config, "random", episodes=20).success < 0.4


def test_the_board_of_numpys_integers_stays_plain_numbers() -> None:
    environment = make_environment("game_2048")
    environment.reset(seed=2)
    chance = np.random.default_rng(1)
    for _ in range(20):
        _, _, over, _, info = environment.step(int(chance.integers(4)))
        assert type(info["score"]) is int
        assert type(info["max_tile"]) is int
        if over:
            break


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [({"target": 100}, "use 64 or 128"), ({"size": 2, "target": 64}, "exceeds 32")],
)
def test_a_target_that_no_board_reaches_is_refused(parameters: dict[str, int], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Game2048Parameters.model_validate(parameters)
