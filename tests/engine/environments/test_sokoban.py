"""Sokoban: solvable levels, pushes but no pulls, RAGEN's rewards."""

from __future__ import annotations

import pytest

from engine.environments import make_environment
from engine.environments.sokoban_level import Level, push, solve

CORRIDOR = frozenset((1, column) for column in range(1, 6))


@pytest.mark.parametrize("boxes", [1, 2])
def test_every_level_is_solvable_within_its_depth(boxes: int) -> None:
    environment = make_environment("sokoban", rows=7, columns=7, boxes=boxes, depth=14)
    for seed in range(60):
        environment.reset(seed=seed)
        solution = environment.solution()
        assert solution is not None
        assert 1 <= len(solution) <= 14


def test_solving_with_one_box_in_n_moves_returns_11_minus_a_tenth_of_n() -> None:
    environment = make_environment("sokoban")
    for seed in range(20):
        environment.reset(seed=seed)
        solution = environment.solution() or []
        total = sum(environment.step(action)[1] for action in solution)
        assert total == pytest.approx(11 - 0.1 * len(solution))


def test_a_box_can_be_pushed_onto_free_floor() -> None:
    assert push(CORRIDOR, ((1, 1), frozenset({(1, 2)})), (0, 1)) == ((1, 2), frozenset({(1, 3)}))


@pytest.mark.parametrize("boxes", [{(1, 2), (1, 3)}, {(1, 5)}])
def test_a_box_cannot_be_pushed_into_a_box_or_a_wall(boxes: set[tuple[int, int]]) -> None:
    player = (1, min(column for _, column in boxes) - 1)
    assert push(CORRIDOR, (player, frozenset(boxes)), (0, 1)) is None


def test_walking_away_from_a_box_leaves_it_where_it_is() -> None:
    assert push(CORRIDOR, ((1, 3), frozenset({(1, 4)})), (0, -1)) == ((1, 2), frozenset({(1, 4)}))


def test_a_box_in_a_dead_end_off_its_target_has_no_solution() -> None:
    level = Level(3, 7, CORRIDOR, frozenset({(1, 3)}), (1, 2), frozenset({(1, 5)}))
    assert solve(level, level.player, level.boxes) is None


def test_an_unsolved_episode_ends_at_its_step_limit() -> None:
    environment = make_environment("sokoban", max_steps=2)
    environment.reset(seed=1)
    away = next(a for a in range(4) if not environment.step(a)[2])
    assert away in range(4)
    _, _, terminated, truncated, info = environment.step(away)
    assert (truncated or terminated) and info["success"] is terminated
