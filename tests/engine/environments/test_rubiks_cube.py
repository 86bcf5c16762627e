"""The 2x2x2 cube: its turns, the number of positions at each distance, exact scrambles and shortest solutions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.base import Environment
from engine.environments.pocket_cube import (
    SOLVED,
    TURNS,
    distances,
    is_solved,
    position_index,
    positions_at,
    shortest_solution,
    stickers_at,
    turn,
)
from engine.environments.rubiks_cube import RubiksCubeParameters

# quarter-turn metric of the pocket cube, from jaapsch.net
POSITIONS = [1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276]


def solved_in(cube: Environment) -> int:
    """The length of the shortest solution from here."""
    solution = cube.solution()
    assert isinstance(solution, list)
    return len(solution)


def after(*turns: str) -> tuple[int, ...]:
    stickers = SOLVED
    for name in turns:
        stickers = turn(stickers, name)
    return stickers


def test_there_are_as_many_positions_at_each_distance_as_are_published() -> None:
    assert np.bincount(distances()).tolist() == POSITIONS
    assert sum(POSITIONS) == 3_674_160 == 5040 * 729


def test_four_equal_turns_and_a_turn_with_its_opposite_change_nothing() -> None:
    scrambled = after("R", "U", "F'", "L")
    for name in TURNS:
        opposite = name[0] if name.endswith("'") else f"{name}'"
        assert turn(turn(scrambled, name), opposite) == scrambled
        stickers = scrambled
        seen = []
        for _ in range(4):
            stickers = turn(stickers, name)
            seen.append(stickers == scrambled)
        assert seen == [False, False, False, True]


def test_turns_go_clockwise_as_their_face_is_seen() -> None:
    cube = make_environment("rubiks_cube")
    cube.reset(seed=1)

    def seen(name: str) -> dict[str, str]:
        cube.stickers = after(name)  # type: ignore[attr-defined]
        return {line[0]: line[3:].replace(" ", "") for line in cube.render().splitlines()}

    # U moves front to left, left to back, back to right, right to front, in their upper rows
    assert seen("U") == {"U": "WWWW", "L": "GGOO", "F": "RRGG", "R": "BBRR", "B": "OOBB", "D": "YYYY"}
    # F moves up's lower row to right's left column, and so on around
    assert seen("F") == {"U": "WWOO", "L": "OYOY", "F": "GGGG", "R": "WRWR", "B": "BBBB", "D": "RRYY"}
    # R moves front to up, up to back, back to down, down to front; back's own left column is on the right
    assert seen("R") == {"U": "WGWG", "L": "OOOO", "F": "GYGY", "R": "RRRR", "B": "WBWB", "D": "YBYB"}


def test_corners_are_listed_with_the_colours_on_their_faces() -> None:
    """After R, whose faces are in the test above: the corner up, right and front shows green, red and yellow."""
    cube = make_environment("rubiks_cube", format="corners")
    cube.reset(seed=1)
    cube.stickers = after("R")  # type: ignore[attr-defined]
    assert cube.render().splitlines() == [
        *("URF: G R Y", "UBR: G W R", "DFR: B Y R", "DRB: B R W"),
        *("UFL: W G O", "ULB: W O B", "DLF: Y O G", "DBL: Y B O"),
    ]
    assert "Each line is a corner" in cube.describe()
    assert "Each line is a corner" not in make_environment("rubiks_cube").describe()


def test_opposite_turns_are_the_same_position_held_in_another_way() -> None:
    for one, other in (("R", "L"), ("U", "D'"), ("F", "B")):
        same = position_index(after(one)) == position_index(after(other))
        assert same == (not other.endswith("'"))
    assert is_solved(after("R", "L'"))  # the whole cube turned
    assert not is_solved(after("R", "L"))


def test_sequences_have_their_known_orders() -> None:
    # R U R' U' has order 6, and R U has order 15 on corners
    assert is_solved(after(*["R", "U", "R'", "U'"] * 6))
    assert not is_solved(after(*["R", "U", "R'", "U'"] * 3))
    assert [n for n in range(1, 16) if is_solved(after(*["R", "U"] * n))] == [15]


def test_each_number_is_one_position() -> None:
    chance = np.random.default_rng(2)
    for index in chance.integers(3_674_160, size=300).tolist():
        assert position_index(stickers_at(index)) == index


def test_every_turn_changes_the_distance_by_one_and_some_turn_lowers_it() -> None:
    # each turn is an odd permutation of corners, so its distance cannot stay
    table, chance = distances(), np.random.default_rng(3)
    for index in chance.integers(3_674_160, size=100).tolist():
        stickers = stickers_at(index)
        changes = {int(table[position_index(turn(stickers, name))]) - int(table[index]) for name in TURNS}
        assert changes <= {-1, 1}
        assert -1 in changes or index == position_index(SOLVED)


@pytest.mark.parametrize("depth", [1, 3, 7, 14])
def test_an_exact_scramble_takes_exactly_its_depth(depth: int) -> None:
    cube = make_environment("rubiks_cube", depth=depth)
    for seed in range(8):
        cube.reset(seed=seed)
        solution = cube.solution()
        assert isinstance(solution, list)
        assert len(solution) == depth
        steps = [cube.step(action) for action in solution]
        assert [reward for _, reward, *_ in steps] == [0.0] * (depth - 1) + [1.0]
        assert [info["distance"] for *_, info in steps] == list(range(depth - 1, -1, -1))
        assert cube.over  # type: ignore[attr-defined]


def test_exact_scrambles_are_uniform_over_their_positions() -> None:
    cube = make_environment("rubiks_cube", depth=1)
    seen: Counter[str] = Counter()
    for seed in range(600):
        cube.reset(seed=seed)
        seen[cube.problem()] += 1
    # six positions, 100 each on average, standard deviation sqrt(600 / 6 * 5 / 6) = 9.1
    assert len(seen) == 6
    assert all(abs(count - 100) < 46 for count in seen.values())


def test_a_random_scramble_is_never_solved_and_may_be_nearer_than_its_turns() -> None:
    cube = make_environment("rubiks_cube", depth=2, scramble="random")
    lengths = set()
    for seed in range(60):
        cube.reset(seed=seed)
        lengths.add(solved_in(cube))
    # R R takes two; of R and the opposite of L nothing is left, and that is drawn again
    assert lengths == {2}
    deeper = make_environment("rubiks_cube", depth=3, scramble="random")
    found = set()
    for seed in range(60):
        deeper.reset(seed=seed)
        found.add(solved_in(deeper))
    assert found == {1, 3}


def test_it_ends_after_its_steps() -> None:
    cube = make_environment("rubiks_cube", depth=10, max_steps=3)
    cube.reset(seed=1)
    assert [cube.step(TURNS.index("R"))[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_the_distance_reward_pays_what_is_gained_and_nothing_for_going_around() -> None:
    cube = make_environment("rubiks_cube", depth=5, distance_reward=0.1)
    cube.reset(seed=4)
    around = [float(cube.step(TURNS.index("R"))[1]) for _ in range(4)]
    assert sum(around) == pytest.approx(0)
    assert all(abs(reward) == pytest.approx(0.1) for reward in around)
    solution = cube.solution()
    assert isinstance(solution, list)
    assert sum(float(cube.step(action)[1]) for action in solution) == pytest.approx(1 + 0.5)


def test_the_drawing_is_the_cube_unfolded() -> None:
    cube = make_environment("rubiks_cube")
    cube.reset(seed=1)
    cube.stickers = SOLVED  # type: ignore[attr-defined]
    assert cube.drawing()["rows"] == [
        ["", "", "W", "W", "", "", "", ""],
        ["", "", "W", "W", "", "", "", ""],
        ["O", "O", "G", "G", "R", "R", "B", "B"],
        ["O", "O", "G", "G", "R", "R", "B", "B"],
        ["", "", "Y", "Y", "", "", "", ""],
        ["", "", "Y", "Y", "", "", "", ""],
    ]


def test_the_farthest_positions_take_14_turns() -> None:
    positions = positions_at(14)
    assert len(positions) == 276
    assert len(shortest_solution(stickers_at(int(positions[5])))) == 14


def test_a_depth_that_no_position_has_is_refused() -> None:
    with pytest.raises(ValidationError, match="use 14 at most"):
        RubiksCubeParameters(depth=15)
    assert RubiksCubeParameters(depth=15, scramble="random").depth == 15
