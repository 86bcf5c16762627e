"""The players that the small models of cubes and rooms imitate, and the environments that these play in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.environments.pocket_cube import TURNS
from engine.environments.problems import problem_id, split_of_problem
from engine.environments.registry import make_environment
from engine.models.tiny.fresh_cubes import CORNER_LINES, FreshCubes
from engine.models.tiny.seen_rooms import LOOK, TURN, SeenRooms
from engine.models.tiny.thoughts import thought

RNG = np.random.default_rng(1)


def cubes(seed: int) -> FreshCubes:
    found = FreshCubes(FreshCubes.Config(depth=5, format="corners", max_steps=10))
    found.reset(seed=seed)
    return found


def room(seed: int) -> SeenRooms:
    found = SeenRooms(SeenRooms.Config(questions=("pov",), exploration_steps=7))
    found.reset(seed=seed)
    return found


def test_each_turn_is_of_another_cube_and_none_is_held_out() -> None:
    """25 turns; cubes few turns from solved may come twice."""
    seen = []
    for seed in range(5):
        player = cubes(seed)
        for _ in range(5):
            seen.append(problem_id(player))
            player.step(TURNS.index(player.scripted_action(RNG)))
    assert {split_of_problem(one) for one in seen} == {"train"}
    assert len(set(seen)) > 20


def test_the_player_of_cubes_turns_each_nearer_to_solved_and_leaves_one_corner_in_place() -> None:
    player = cubes(seed=1)
    while not player.over:
        assert player.render().endswith("\nDBL: Y B O")
        before = player.distance
        _, reward, _, _, info = player.step(TURNS.index(player.scripted_action(RNG)))
        assert (reward, info["success"], info["distance"]) == (1.0, True, before - 1)


def test_the_lines_of_corners_are_all_that_there_are() -> None:
    """8 corners x 8 pieces x 3 twists."""
    cube = make_environment("rubiks_cube", depth=9, format="corners")
    cube.reset(seed=2)
    seen = set()
    for _ in range(20):
        seen |= {f"{line}\n" for line in cube.render().splitlines()}
        cube.step(TURNS.index(cube.random_action(RNG)))
    assert seen < set(CORNER_LINES)
    assert len(set(CORNER_LINES)) == 192


def test_the_player_of_rooms_turns_until_it_sees_the_first_object_goes_there_and_answers_with_what_it_sees() -> None:
    """Seed 0 asks where the television is from the scanner, which is ahead and faces the player."""
    player = room(seed=0)
    assert player.scripted_action(RNG) == LOOK
    player.step(LOOK)
    go = "Actions: [JumpTo(scanner), Rotate(180), Observe()]"
    assert player.scripted_action(RNG) == go
    assert thought(player, [go], RNG) == "the scanner, facing backward"
    assert thought(player, [TURN], RNG) == "I turn"
    player.step(go)
    answer = "Actions: [Term(front, near)]"
    assert player.scripted_action(RNG) == answer
    assert thought(player, [answer], RNG) == "the television front, near"
    assert thought(player, ["Actions: [Term(front-right, near)]"], RNG) == "I guess"
    assert player.step(answer)[1] == 10.0


def test_the_player_of_rooms_needs_no_more_than_its_budget_and_not_the_answer_that_the_environment_knows() -> None:
    for seed in range(40):
        for letter in "ABCD":
            player = room(seed)
            right = player.question.answer
            player.question = replace(player.question, answer=letter)
            while not player.over:
                player.step(player.scripted_action(RNG))
            assert player.answer == right
