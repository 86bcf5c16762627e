"""Questions of the spatial environment, whose answers are worked out again from the world."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from engine.environments.spatial.geometry import FACINGS, NORTH, bearing, cardinal_bin, distance, distance_bin
from engine.environments.spatial.problem import MAKERS, make_problem
from engine.environments.spatial.world import Pose, World


@pytest.mark.parametrize("kind", list(MAKERS))
@pytest.mark.parametrize("rooms", [1, 2])
def test_every_kind_of_question_is_found_in_every_world(kind: Any, rooms: int) -> None:
    for seed in range(60):
        _, question = make_problem(seed, (kind,), (10, 10), rooms, 6, 3)
        assert question.kind == kind and len(set(question.options)) == len(question.options)
        assert question.answer in "ABCD"[: len(question.options)]
        allowed = {"rot_dual": {2}, "bwd_pov": {2, 3, 4}}.get(kind, {4})
        assert len(question.options) in allowed


def test_all_kinds_are_equally_frequent() -> None:
    kinds = [make_problem(seed, tuple(MAKERS), (10, 10), 1, 6, 3)[1].kind for seed in range(500)]
    # 500 / 10 each, with a standard deviation of sqrt(500 * 0.1 * 0.9) = 6.7
    assert all(abs(kinds.count(kind) - 50) < 27 for kind in MAKERS)


def right_options(kind: Any, seed: int) -> tuple[World, str, list[bool]]:
    """Whether each option is right by a second, independent reading of the question."""
    made, question = make_problem(seed, (kind,), (10, 10), 1, 6, 4)
    return made, question.answer, [READINGS[kind](made, question.text, option) for option in question.options]


def read_direction(made: World, text: str, option: str) -> bool:
    found = re.match(r"Where is the (.+) from the (.+)\? Your", text)
    assert found
    one, other = made.named(found[1]), made.named(found[2])
    assert one and other
    dx, dy = one.position[0] - other.position[0], one.position[1] - other.position[1]
    vertical = "north" if dy > 0 else "south"
    sideways = "east" if dx > 0 else "west"
    # tan 22.5 degrees = 0.4142: within it of an axis the direction is that axis
    if abs(dx) <= 0.4142 * abs(dy):
        direction = vertical
    elif abs(dy) <= 0.4142 * abs(dx):
        direction = sideways
    else:
        direction = f"{vertical} {sideways}"
    return option == f"{direction}, {distance_bin(math.hypot(dx, dy))}"


def read_coordinates(made: World, text: str, option: str) -> bool:
    for entry in option.split("; "):
        found = re.fullmatch(r"(.+) at \((-?\d+), (-?\d+)\) facing (\w+)", entry)
        assert found
        thing = made.named(found[1])
        assert thing and thing.facing
        x, y = made.start.position[0] + int(found[2]), made.start.position[1] + int(found[3])
        if thing.position != (x, y) or FACINGS[thing.facing] != found[4]:
            return False
    return True


def facing_named(word: str) -> tuple[int, int]:
    return next(facing for facing, name in FACINGS.items() if name == word)


def read_view(made: World, text: str, option: str) -> bool:
    found = re.match(r"You go to \((-?\d+), (-?\d+)\), where \(0, 0\) is the (.+), x grows.* and face (\w+)\.", text)
    assert found
    origin = made.named(found[3])
    assert origin
    position = origin.position[0] + int(found[1]), origin.position[1] + int(found[2])
    return option == "; ".join(made.view(Pose(position, facing_named(found[4]))))


def read_location(made: World, text: str, option: str) -> bool:
    found = re.match(r"You see (.+)\. Where are you, where \(0, 0\) is the (.+), x grows", text)
    located = re.fullmatch(r"\((-?\d+), (-?\d+)\) facing (\w+)", option)
    assert found and located
    origin = made.named(found[2])
    assert origin
    position = origin.position[0] + int(located[1]), origin.position[1] + int(located[2])
    return "; ".join(made.view(Pose(position, facing_named(located[3])))) == found[1]


def walked(made: World, text: str) -> Pose:
    position = made.start.position
    for direction, length in re.findall(r"the object that is ([a-z ]+) \(([a-z ]+)\) of you", text):
        reached = [
            thing.position
            for thing in made.objects
            if thing.position != position
            and (cardinal_bin(position, thing.position), distance_bin(distance(position, thing.position)))
            == (direction, length)
        ]
        assert len(reached) == 1
        position = reached[0]
    face = re.search(r"then face (\w+)", text)
    assert face
    return Pose(position, facing_named(face[1]))


def read_viewer(made: World, text: str, option: str) -> bool:
    """`none of them` is right if no other option is, which the test sees by the number of right ones."""
    found = re.match(r".*The (.+) is (\S+, [a-z ]+)\. Which object", text)
    thing = made.named(option)
    assert found
    if thing is None or thing.facing is None:
        return False
    return any(line.startswith(f"{found[1]}: {found[2]}, ") for line in made.view(Pose(thing.position, thing.facing)))


def test_the_object_that_sees_it_so_is_right_or_none_of_them() -> None:
    none = 0
    for seed in range(100):
        made, question = make_problem(seed, ("bwd_pov",), (10, 10), 1, 6, 5)
        right = [read_viewer(made, question.text, option) for option in question.options]
        expected = question.options["ABCD".index(question.answer)]
        assert right == [option == expected != "none of them" for option in question.options]
        none += expected == "none of them"
    # a quarter of 100, with a standard deviation of sqrt(100 * 3 / 16) = 4.3
    assert abs(none - 25) < 18


READINGS: dict[str, Callable[[World, str, str], bool]] = {
    "dir": read_direction,
    "e2a": read_coordinates,
    "fwd_loc": read_view,
    "bwd_loc": read_location,
    "fwd_fov": lambda made, text, option: option == "; ".join(made.view(walked(made, text))),
    "bwd_nav": lambda made, text, option: f"you see {'; '.join(made.view(walked(made, option)))}." in text,
}


@pytest.mark.parametrize("kind", list(READINGS))
def test_exactly_one_option_is_right_by_another_reading(kind: str) -> None:
    for seed in range(60):
        _, answer, right = right_options(kind, seed)
        assert right == [letter == answer for letter in "ABCD"]


def test_the_order_of_a_turn_is_the_order_of_bearings() -> None:
    for seed in range(60):
        made, question = make_problem(seed, ("rot",), (10, 10), 1, 6, 5)
        names = question.options["ABCD".index(question.answer)].split(", ")
        angles = [bearing(made.start.position, NORTH, made.named(name).position) % 360 for name in names]  # type: ignore[union-attr]
        if "counterclockwise" in question.text:
            angles = [-angle % 360 for angle in angles]
        assert angles == sorted(angles) and len(names) >= 3
        # at least 15 degrees apart, also around from the last to the first
        assert min(b - a for a, b in zip(angles, [*angles[1:], angles[0] + 360], strict=True)) >= 15


def test_a_perspective_is_what_the_object_would_see() -> None:
    for seed in range(60):
        made, question = make_problem(seed, ("pov",), (10, 10), 1, 6, 4)
        found = re.match(r"You stand at the (.+) and face the way it faces. Where is the (.+)\?", question.text)
        assert found
        one = made.named(found[1])
        assert one and one.facing
        right = question.options["ABCD".index(question.answer)]
        assert any(line.startswith(f"{found[2]}: {right}, ") for line in made.view(Pose(one.position, one.facing)))
        assert not any("beyond-fov" in option for option in question.options)
