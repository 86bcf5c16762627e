"""Sokoban: solvable levels, pushes but no pulls, RAGEN's rewards."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.base import UNKNOWN, Environment
from engine.environments.sokoban import SokobanParameters
from engine.environments.sokoban_level import MOVES, Level, State, live_floor, make_level, push, solve

CORRIDOR = frozenset((1, column) for column in range(1, 6))


def searched_solution(level: Level) -> list[int] | None:
    """A shortest solution by forward search, actions in order: what the generator must know without searching."""
    start: State = (level.player, level.boxes)
    queue: deque[tuple[State, list[int]]] = deque([(start, [])])
    seen = {start}
    while queue:
        state, path = queue.popleft()
        if state[1] == level.targets:
            return path
        for action, move in enumerate(MOVES):
            following = push(level.floor, state, move)
            if following is not None and following not in seen:
                seen.add(following)
                queue.append((following, [*path, action]))
    return None


def solution_of(environment: Environment) -> list[int]:
    solution = environment.solution()
    assert isinstance(solution, list)
    return solution


def boxes_in(environment: Environment) -> tuple[int, int]:
    """How many boxes there are, and how many of them are on targets."""
    cells = [cell for row in environment.drawing()["cells"] for cell in row]
    return cells.count("box") + cells.count("box_on_target"), cells.count("box_on_target")


@pytest.mark.parametrize("boxes", [1, 2, 3])
def test_every_level_is_solvable_within_its_depth(boxes: int) -> None:
    environment = make_environment("sokoban", rows=7, columns=7, boxes=boxes, depth=14)
    for seed in range(60):
        environment.reset(seed=seed)
        solution = solution_of(environment)
        assert 1 <= len(solution) <= 14


@pytest.mark.parametrize(("rows", "columns", "boxes", "depth"), [(6, 6, 1, 10), (6, 6, 2, 12), (7, 8, 2, 20)])
def test_the_solution_known_from_playing_backwards_is_the_one_a_forward_search_finds(
    rows: int, columns: int, boxes: int, depth: int
) -> None:
    for seed in range(25):
        level = make_level(seed, rows, columns, boxes, depth)
        assert list(level.solution or ()) == searched_solution(level)


def test_no_box_begins_on_a_target() -> None:
    environment = make_environment("sokoban", rows=7, columns=7, boxes=2)
    for seed in range(40):
        environment.reset(seed=seed)
        assert boxes_in(environment) == (2, 0)


def test_most_default_levels_fit_the_default_budget_of_ten_actions_and_few_are_trivial() -> None:
    environment = make_environment("sokoban")
    lengths = []
    for seed in range(200):
        environment.reset(seed=seed)
        lengths.append(len(solution_of(environment)))
    assert max(lengths) <= 10
    assert sum(length >= 3 for length in lengths) / 200 > 0.7


def test_solving_with_one_box_in_n_moves_returns_11_minus_a_tenth_of_n() -> None:
    environment = make_environment("sokoban")
    for seed in range(20):
        environment.reset(seed=seed)
        solution = solution_of(environment)
        total = sum(float(environment.step(action)[1]) for action in solution)
        assert total == pytest.approx(11 - 0.1 * len(solution))


def test_each_move_pays_by_the_boxes_it_puts_on_targets_or_takes_off() -> None:
    # -0.1 a move, +1 or -1 for each box that enters or leaves a target, +10 when all are on
    environment = make_environment("sokoban", rows=6, columns=6, boxes=2)
    chance = np.random.default_rng(5)
    changes = set()
    for seed in range(40):
        environment.reset(seed=seed)
        for _ in range(40):
            boxes, before = boxes_in(environment)
            _, reward, solved, _, info = environment.step(int(chance.integers(4)))
            assert boxes == 2
            change = boxes_in(environment)[1] - before
            changes.add(change)
            assert reward == pytest.approx(-0.1 + change + 10 * solved)
            assert info["success"] is solved is (boxes_in(environment)[1] == 2)
            if solved:
                break
    assert changes == {-1, 0, 1}


def test_a_move_is_effective_exactly_when_the_text_changes() -> None:
    environment = make_environment("sokoban")
    chance = np.random.default_rng(6)
    for seed in range(20):
        before, _ = environment.reset(seed=seed)
        for _ in range(15):
            after, _, over, _, info = environment.step(int(chance.integers(4)))
            assert info["action_is_effective"] is (after != before)
            if over:
                break
            before = after


def test_the_rest_of_a_solution_is_a_solution() -> None:
    environment = make_environment("sokoban")
    for seed in range(20):
        environment.reset(seed=seed)
        whole = solution_of(environment)
        environment.step(whole[0])
        assert environment.solution() == whole[1:]


def test_off_the_path_the_solution_is_searched_from_where_the_player_stands() -> None:
    environment = make_environment("sokoban")
    for seed in range(30):
        environment.reset(seed=seed)
        first = solution_of(environment)[0]
        environment.step((first + 1) % 4)
        level = environment.level  # type: ignore[attr-defined]
        now = replace(level, player=environment.player, boxes=environment.boxes)  # type: ignore[attr-defined]
        assert environment.solution() == searched_solution(now)


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


def open_room(rows: int, columns: int) -> frozenset[tuple[int, int]]:
    return frozenset((r, c) for r in range(1, rows - 1) for c in range(1, columns - 1))


def test_a_box_in_a_corner_or_along_a_wall_without_a_target_is_lost() -> None:
    # 7 x 7, target in the middle: a box beside any wall can only move along it
    floor = open_room(7, 7)
    live = live_floor(floor, frozenset({(3, 3)}))
    assert live == {(r, c) for r in range(2, 5) for c in range(2, 5)}
    # with a target at the wall, its wall is live, but for its corners
    live = live_floor(floor, frozenset({(1, 3)}))
    assert live == {(r, c) for r in range(1, 5) for c in range(2, 5)}


def test_a_corner_proves_a_large_room_lost_and_an_abandoned_search_proves_nothing() -> None:
    targets = frozenset({(2, 2), (2, 9), (9, 2), (9, 9)})
    boxes = frozenset({(4, 4), (4, 7), (7, 4), (7, 7)})
    level = Level(12, 12, open_room(12, 12), targets, (1, 5), boxes)
    assert solve(level, level.player, level.boxes) is UNKNOWN
    lost = (boxes - {(4, 4)}) | {(1, 1)}
    assert solve(level, level.player, lost) is None


def test_a_push_into_a_corner_makes_the_episode_unsolvable() -> None:
    environment = make_environment("sokoban")
    environment.reset(seed=0)
    # P X O in the upper row of an open room, and a corner to the right of the target
    level = Level(6, 6, open_room(6, 6), frozenset({(1, 3)}), (1, 1), frozenset({(1, 2)}))
    environment.level, environment.player, environment.boxes = level, level.player, level.boxes  # type: ignore[attr-defined]
    environment.plan = None  # type: ignore[attr-defined]
    assert environment.solution() == [3]
    environment.player, environment.boxes, environment.plan = (1, 2), frozenset({(1, 4)}), None  # type: ignore[attr-defined]
    assert environment.solution() is None


def test_an_unsolved_episode_is_truncated_at_its_step_limit() -> None:
    environment = make_environment("sokoban", max_steps=2)
    seed = next(seed for seed in range(50) if _length(environment, seed) > 2)
    environment.reset(seed=seed)
    assert environment.step(0)[2:4] == (False, False)
    assert environment.step(0)[2:4] == (False, True)


def _length(environment: Environment, seed: int) -> int:
    environment.reset(seed=seed)
    return len(solution_of(environment))


def test_coordinates_say_everything_that_the_grid_says() -> None:
    both = make_environment("sokoban", format="grid_and_coordinates", boxes=2, rows=7, columns=7)
    for seed in range(10):
        text, _ = both.reset(seed=seed)
        grid = [line.split(" ") for line in text.splitlines()[-7:]]
        inside = [(r, c) for r in range(1, 6) for c in range(1, 6)]
        for name, symbols in (("Player", "PS"), ("Boxes", "X"), ("Targets", "OS"), ("Inner walls", "#")):
            positions = " ".join(f"({r}, {c})" for r, c in inside if grid[r][c] in symbols)
            assert f"{name}: {positions}" in text.splitlines()


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"rows": 5, "columns": 5, "boxes": 4}, "use 2 at most"),
        ({"boxes": 2, "depth": 1}, "use 2 or more"),
        ({"boxes": 4, "depth": 5}, "use 6 or more"),
    ],
)
def test_numbers_that_allow_no_level_are_refused_with_what_would_do(parameters: dict[str, int], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        SokobanParameters.model_validate(parameters)


@pytest.mark.parametrize(
    ("rows", "columns", "boxes", "depth"),
    [(5, 5, 2, 2), (5, 6, 3, 4), (6, 6, 4, 6), (5, 12, 4, 6)],
)
def test_the_tightest_numbers_that_are_allowed_make_levels(rows: int, columns: int, boxes: int, depth: int) -> None:
    for seed in range(3):
        level = make_level(seed, rows, columns, boxes, depth)
        assert 1 <= len(level.solution or ()) <= depth


@pytest.mark.slow
def test_the_largest_levels_still_have_their_solution() -> None:
    environment = make_environment("sokoban", rows=12, columns=12, boxes=4, depth=60)
    for seed in range(8):
        environment.reset(seed=seed)
        for action in solution_of(environment):
            *_, info = environment.step(action)
        assert info["success"]
