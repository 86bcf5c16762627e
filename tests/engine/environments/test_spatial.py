"""Spatial: words for directions and distances, what is visible, the grammar, the rewards and the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.spatial import Spatial
from engine.environments.spatial.actions import Act, letter, parse
from engine.environments.spatial.generation import make_world
from engine.environments.spatial.geometry import (
    EAST,
    NORTH,
    SOUTH,
    WEST,
    bearing,
    cardinal_bin,
    distance_bin,
    ego_bin,
    turned,
)
from engine.environments.spatial.world import Pose, Room, Thing, World

ROOM = frozenset({0})
OBSERVE = Act("Observe")


def spatial(**parameters: Any) -> Spatial:
    environment = make_environment("spatial", **parameters)
    assert isinstance(environment, Spatial)
    return environment


def world(*things: Thing) -> World:
    """One room of 10 x 10 cells, and a start in its middle."""
    return World(10, 10, (Room((0, 0), (9, 9)),), (), things, Pose((5, 5), NORTH))


@pytest.mark.parametrize(
    ("angle", "word"),
    [
        (0, "front"),
        (0.0005, "front"),  # within the tolerance of 0.001
        (0.01, "front-slight-right"),
        (22.5, "front-slight-right"),
        (22.51, "front-right"),
        (45, "front-right"),
        (45.01, "beyond-fov"),
        (-22.5, "front-slight-left"),
        (-45, "front-left"),
        (-45.01, "beyond-fov"),
        (180, "beyond-fov"),
    ],
)
def test_directions_at_their_borders(angle: float, word: str) -> None:
    assert ego_bin(angle) == word


@pytest.mark.parametrize(
    ("length", "word"),
    [
        (0, "same distance"),
        (1, "near"),
        (2, "near"),
        (math.sqrt(5), "mid distance"),
        (4, "mid distance"),
        (math.sqrt(17), "slightly far"),
        (8, "slightly far"),
        (8.1, "far"),
        (16, "far"),
        (32, "very far"),
        (33, "extremely far"),
    ],
)
def test_distances_at_their_borders(length: float, word: str) -> None:
    assert distance_bin(length) == word


@pytest.mark.parametrize(
    ("facing", "target", "degrees"),
    [
        (NORTH, (0, 3), 0),
        (NORTH, (2, 2), 45),
        (NORTH, (-2, 2), -45),
        (NORTH, (4, 0), 90),
        (NORTH, (0, -1), 180),  # behind is 180, never -180
        (EAST, (0, 3), -90),
        (SOUTH, (0, 3), 180),
        (WEST, (0, 3), 90),
        (WEST, (3, 0), 180),
    ],
)
def test_bearings_are_clockwise_from_the_facing(facing: tuple[int, int], target: tuple[int, int], degrees: int) -> None:
    assert bearing((0, 0), facing, target) == pytest.approx(degrees)


@pytest.mark.parametrize(
    ("target", "word"),
    [((0, 5), "north"), ((1, 2), "north east"), ((1, 3), "north"), ((-3, 3), "north west"), ((-1, -3), "south")],
)
def test_cardinal_directions_are_45_degrees_wide(target: tuple[int, int], word: str) -> None:
    # (1, 2) is at atan(1/2) = 26.6 degrees and (1, 3) at 18.4; the border is 22.5
    assert cardinal_bin((0, 0), target) == word


def test_turns_are_clockwise() -> None:
    assert [turned(NORTH, degrees) for degrees in (0, 90, 180, 270, -90, -270)] == [
        *(NORTH, EAST, SOUTH, WEST, WEST, EAST)
    ]


def test_a_view_goes_from_left_to_right_and_has_only_what_is_within_45_degrees() -> None:
    room = world(
        Thing("chair", (7, 7), SOUTH, ROOM),  # 45 degrees to the right, sqrt(8) = 2.8 away
        Thing("sofa", (4, 7), EAST, ROOM),  # -26.6 degrees, sqrt(5) = 2.2 away
        Thing("oven", (5, 6), NORTH, ROOM),  # ahead, 1 away
        Thing("monitor", (7, 6), NORTH, ROOM),  # 63.4 degrees
        Thing("printer", (5, 5), NORTH, ROOM),  # underfoot
    )
    assert room.view(Pose((5, 5), NORTH)) == (
        "sofa: front-left, mid distance, facing right",
        "oven: front, near, facing forward",
        "chair: front-right, mid distance, facing backward",
    )


def test_things_nearer_than_two_to_each_other_are_related_with_ahead_as_north() -> None:
    room = world(Thing("chair", (5, 7), NORTH, ROOM), Thing("sofa", (6, 8), NORTH, ROOM))
    # seen facing north the sofa is up and to the right of the chair: the chair is south west of it
    assert room.observation(Pose((5, 5), NORTH)).splitlines()[-2:] == [
        "Taking ahead as north:",
        "- chair is south west of sofa",
    ]
    world_of_two = world(Thing("chair", (5, 7), NORTH, ROOM), Thing("sofa", (5, 9), NORTH, ROOM))  # exactly 2
    assert "Taking ahead" not in world_of_two.observation(Pose((5, 5), NORTH))


def test_a_door_is_seen_from_both_rooms_and_other_rooms_are_not() -> None:
    door = Thing("red door", (4, 2), None, frozenset({0, 1}))
    sofa = Thing("sofa", (6, 2), NORTH, frozenset({1}))
    rooms = (Room((0, 0), (3, 4)), Room((5, 0), (8, 4)))
    two = World(9, 5, rooms, (door,), (sofa,), Pose((1, 2), NORTH))
    assert two.view(Pose((1, 2), EAST)) == ("red door: front, mid distance, on front wall",)
    assert two.view(Pose((4, 2), EAST)) == ("sofa: front, near, facing left",)
    assert two.view(Pose((7, 2), WEST)) == (
        "red door: front, mid distance, on front wall",
        "sofa: front, near, facing right",
    )


@pytest.mark.parametrize("level", [0, 1, 3, 8])
def test_rooms_are_as_many_as_asked_for_and_joined_by_doors(level: int) -> None:
    for seed in range(30):
        made = make_world(np.random.default_rng(seed), (14, 14), level + 1, 6, 5)
        assert len(made.rooms) == level + 1 and len(made.doors) == level
        reached = {0}
        for _ in made.rooms:
            reached |= {room for door in made.doors if door.rooms & reached for room in door.rooms}
        assert reached == set(range(level + 1))
        assert (
            min(side for room in made.rooms for side in (room.high[0] - room.low[0], room.high[1] - room.low[1])) >= 3
        )
        taken = [made.start.position, *(thing.position for thing in made.things)]
        assert len(set(taken)) == len(taken)
        assert made.start.facing == NORTH and made.rooms[0].contains(made.start.position)


def test_a_single_room_is_square_and_in_the_middle() -> None:
    made = make_world(np.random.default_rng(0), (10, 10), 1, 6, 3)
    assert made.rooms == (Room((2, 2), (7, 7)),)


def test_rooms_that_do_not_fit_are_refused_with_how_many_do() -> None:
    # two rooms of 4 and a wall take 9 cells: 10 x 10 has 2 x 2 rooms
    with pytest.raises(ValidationError, match=r"5 rooms do not fit into 10 x 10 cells.*at most level 3"):
        make_environment("spatial", level=4)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("Actions: [Observe()]", [OBSERVE]),
        (
            "[Rotate(-90),JumpTo(air conditioner),Observe()]",
            [Act("Rotate", "-90"), Act("JumpTo", "air conditioner"), OBSERVE],
        ),
        ("actions:[ move( chair ),query(sofa) ]", [Act("JumpTo", "chair"), Act("Query", "sofa")]),
        ("I think so. Actions: [Term((C))]", [Act("Term", "(C)")]),
    ],
)
def test_a_list_of_actions_is_read(text: str, acts: list[Act]) -> None:
    assert parse(text) == acts


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no list"),
        ("Observe()", "no list"),
        ("] Observe() [", "no list"),
        ("[]", "not made of actions"),
        ("[Observe(),]", "not made of actions"),
        ("[Observe() and Rotate(90)]", "not made of actions"),
        ("[Fly(), Observe()]", "not made of actions"),
        ("[Rotate(90)]", "has to end the list"),
        ("[Observe(), Rotate(90)]", "has to end the list"),
        ("[Observe(), Observe()]", "has to end the list"),
        ("[Rotate(90), Term(A)]", "Term has to stand alone"),
        ("[Rotate(45), Observe()]", "Rotate(45): give 0, 90, 180 or 270"),
        ("[JumpTo(), Observe()]", "JumpTo needs a name"),
        ("[Observe(chair)]", "Observe takes nothing"),
        ("[" + "Rotate(90)," * 1000 + "Observe()]", "no list"),
    ],
)
def test_what_is_wrong_with_a_list_is_stated(text: str, problem: str) -> None:
    found = parse(text)
    assert isinstance(found, str) and problem in found


@pytest.mark.parametrize("written", ["C", "c", "C.", "(C)", "'C'", "c)", " C "])
def test_a_letter_may_be_written_in_several_ways(written: str) -> None:
    assert letter(written) == "C"
    assert letter("CD") == letter("") == letter("3") == ""


def test_answers_earn_10_or_lose_1_and_end_the_episode() -> None:
    environment = spatial()
    environment.reset(seed=1)
    right = environment.question.answer
    _, reward, terminated, truncated, info = environment.step(f"Actions: [Term({right.lower()})]")
    assert (reward, terminated, truncated, info["success"]) == (10.0, True, False, True)
    environment.reset(seed=1)
    wrong = next(one for one in "AB" if one != right)
    _, reward, terminated, truncated, info = environment.step(f"Actions: [Term({wrong})]")
    assert (reward, terminated, truncated, info["success"]) == (-1.0, True, False, False)
    assert environment.solution() is None


def test_exploring_costs_a_tenth_and_what_cannot_be_read_1() -> None:
    environment = spatial()
    environment.reset(seed=1)
    assert environment.step("Actions: [Rotate(90), Observe()]")[1] == -0.1
    observation, reward, *_, info = environment.step("look around")
    assert (reward, info["action_is_valid"]) == (-1.0, False)
    assert observation.startswith("There is no list of actions. Answer with a list such as")


@pytest.mark.parametrize("text", ["Actions: [Observe()]", "no list", "Actions: [JumpTo(nowhere), Observe()]"])
def test_the_cap_counts_every_answer_whatever_it_was(text: str) -> None:
    environment = spatial()  # 10 to explore with, and one more
    environment.reset(seed=1)
    ends = [environment.step(text)[2:4] for _ in range(11)]
    assert ends == [(False, False)] * 10 + [(False, True)]
    with pytest.raises(RuntimeError):
        environment.step(text)


def test_the_last_answer_may_still_be_right() -> None:
    environment = spatial(exploration_steps=0)
    environment.reset(seed=1)
    _, reward, terminated, truncated, _ = environment.step(f"[Term({environment.question.answer})]")
    assert (reward, terminated, truncated) == (10.0, True, False)


def test_one_can_only_jump_to_what_was_observed_and_is_in_view() -> None:
    environment = spatial()
    environment.reset(seed=1)
    environment.world = world(Thing("chair", (5, 8), SOUTH, ROOM), Thing("sofa", (5, 1), NORTH, ROOM))
    environment.pose = environment.world.start
    observation, *_, info = environment.step("[JumpTo(chair), Observe()]")
    assert observation == "chair has not been observed yet.\n- chair: front, mid distance, facing backward"
    assert not info["action_is_valid"] and environment.pose.position == (5, 5)
    assert environment.step("[JumpTo(sofa), Observe()]")[0].startswith("sofa is not in your view.")
    assert environment.step("[JumpTo(lamp), Observe()]")[0].startswith("There is no lamp.")
    observation, *_, info = environment.step("[JumpTo(Chair), Rotate(180), Observe()]")
    assert environment.pose == Pose((5, 8), SOUTH) and info["action_is_valid"]
    assert observation == "- sofa: front, slightly far, facing backward"  # 7 away, and it faces north
    assert environment.step("[Query(sofa)]")[0] == "sofa: (0, -4) from the start, facing north"
    environment.step("[Return(), Observe()]")
    assert environment.pose == environment.world.start


def test_the_moves_before_one_that_fails_are_done_and_a_view_follows() -> None:
    environment = spatial()
    environment.reset(seed=1)
    observation, *_ = environment.step("[Rotate(180), JumpTo(nothing), Rotate(90), Query(x)]")
    assert environment.pose == Pose(environment.pose.position, SOUTH)
    assert observation.startswith("There is no nothing.\n")


def test_render_is_the_same_until_the_next_step() -> None:
    environment = spatial()
    observation, _ = environment.reset(seed=1)
    assert [environment.render() for _ in range(3)] == [observation] * 3
    observation, *_ = environment.step("[Observe()]")
    assert [environment.render() for _ in range(3)] == [observation] * 3


def test_the_question_can_be_repeated() -> None:
    environment = spatial(repeat_question=True)
    environment.reset(seed=1)
    assert environment.step("[Observe()]")[0].endswith(str(environment.question))


def test_guessing_is_reported_beside_success() -> None:
    environment = spatial(questions=["rot_dual"])
    environment.reset(seed=1)
    *_, info = environment.step("[Observe()]")
    assert info["chance"] == 0.5


def test_an_answer_may_be_given_by_the_words_of_its_option() -> None:
    """Seed 0: C is front-right, near, and D, which is right, is front, near."""
    for words, success, valid in (
        ("Front, near", True, True),
        ("front-right, near", False, True),
        ("up", False, False),
    ):
        room = spatial(questions=("pov",))
        room.reset(seed=0)
        _, reward, terminated, _, info = room.step(f"Actions: [Term({words})]")
        assert (reward, terminated) == (10.0 if success else -1.0, True)
        assert (info["success"], info["action_is_valid"]) == (success, valid)
