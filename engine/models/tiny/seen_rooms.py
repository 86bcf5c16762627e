"""How the scripted player answers where one object is from another (Spatial): it turns until it sees the first, goes
there, faces the way that it faces, and says what it sees. It never uses the answer that the environment knows."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, Final

import numpy as np

from engine.environments.base import UNKNOWN, Solution
from engine.environments.spatial.environment import Spatial
from engine.environments.spatial.generation import OBJECTS
from engine.environments.spatial.geometry import DISTANCE_BINS, EGO_BINS, TURNS, quarter_turns
from engine.environments.spatial.questions import pose_of
from engine.environments.spatial.world import NOTHING_SEEN, Thing
from engine.models.tiny.wordings import PLAIN_WORDINGS, say

LOOK, TURN = "Actions: [Observe()]", "Actions: [Rotate(90), Observe()]"
GO, ANSWER = "Actions: [JumpTo(", "Actions: [Term("
AT, FROM = "You stand at the", " and face the way it faces. Where is the"
ASKED: Final = re.compile(rf"{AT} (.+){re.escape(FROM)} (.+)\?")


class SeenRooms(Spatial):
    """Spatial for a player that answers from what it sees, with the words of an option. Random actions are a look, a
    turn or a guess."""

    def solution(self) -> Solution:
        return UNKNOWN

    def scripted_action(self, rng: np.random.Generator) -> str:
        return next_step(self)[1]

    def random_action(self, rng: np.random.Generator) -> str:
        guess = self.question.options[int(rng.integers(len(self.question.options)))]
        return [LOOK, TURN, f"{ANSWER}{guess})]"][int(rng.integers(3))]


def perspective(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """Other kinds of questions have no thoughts of their own."""
    if environment.question.kind != "pov":
        return say(PLAIN_WORDINGS, rng, plan=plan[0])
    thought, action = next_step(environment)
    if plan[0] == action:
        return thought
    if plan[0].startswith(ANSWER):
        return "I guess"
    return "I turn" if plan[0] == TURN else "I look"


def next_step(environment: Any) -> tuple[str, str]:
    """What the scripted player thinks and does. It sees what the last observation shows."""
    one, other = _asked(environment)
    world, pose = environment.world, environment.pose
    if environment.steps == 0:
        return "I look", LOOK
    if pose == pose_of(one):
        relation = world.relation(pose, other).rpartition(", ")[0]
        return f"the {other.name} {relation}", f"{ANSWER}{relation})]"
    if one not in world.visible(pose):
        return f"the {one.name} not here", TURN
    quarters = quarter_turns(pose_of(one).facing, pose.facing)
    return f"the {one.name}, facing {TURNS[quarters]}", f"{GO}{one.name}{_then_face(quarters)}"


def _asked(environment: Any) -> tuple[Thing, Thing]:
    found = ASKED.fullmatch(environment.question.text)
    if found is None:
        raise ValueError(f"{environment.question.text} does not ask where one object is from another.")
    return environment.world.named(found[1]), environment.world.named(found[2])


def _then_face(quarters: int) -> str:
    return f"), Rotate({90 * quarters}), Observe()]"


LENGTHS: Final = tuple(word for _, word in DISTANCE_BINS[1:6])
RELATIONS: Final = tuple(f"{direction}, {length}" for direction, length in product(EGO_BINS, LENGTHS))
ROOM_PHRASES: Final = (
    *(f"{before}{words}" for before, words in product(("", " "), (*OBJECTS, *RELATIONS))),
    *(f", facing {turn}" for turn in TURNS),
    *(LOOK, TURN, GO, ANSWER, *map(_then_face, range(4)), ")]"),
    *("You are in a room and face north. Objects:", AT, FROM, NOTHING_SEEN, " not here", "Reward -0.1"),
)
