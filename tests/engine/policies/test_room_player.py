"""The player that the small model of rooms imitates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.models.tiny.seen_rooms import LOOK, TURN, SeenRooms
from engine.models.tiny.thoughts import thought

RNG = np.random.default_rng(1)


def room(seed: int) -> SeenRooms:
    found = SeenRooms(SeenRooms.Config(questions=("pov",), exploration_steps=7))
    found.reset(seed=seed)
    return found


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
