"""Thoughts of the scripted players: short, true sentences about the state, in several wordings. `THINKERS` has them by
kind; those of boards and of arithmetic are in files of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.environments.bandit import TEST_PAIRS, TRAIN_PAIRS
from engine.environments.base import Drawing, Environment
from engine.models.tiny import arithmetic_thoughts, board_thoughts, seen_rooms
from engine.models.tiny.wordings import PLAIN_WORDINGS, say

SAFE_SOUNDING = frozenset(safe for safe, _ in (*TRAIN_PAIRS, *TEST_PAIRS))
Thinker = Callable[[Environment, list[str], np.random.Generator], str]

GRID_WORDINGS = (
    "I am at {me} and the goal is at {goal} so {plan}",
    "me {me} goal {goal} go {plan}",
    "goal {goal} me {me} {plan}",
    "from {me} to {goal} I go {plan}",
    "{way} to the goal so {plan}",
    "I stand at {me} the goal is {way} {plan}",
)
PUSH_WORDINGS = (
    "I am at {me} box {box} target {target} so {plan}",
    "box {box} to {target} from {me} {plan}",
    "me {me} box {box} target {target} go {plan}",
    "the box must go {way} I am at {me} {plan}",
)
ARM_WORDINGS = (
    "{safe} sounds safe and {risky} sounds risky I take {plan}",
    "{risky} is a gamble and {safe} is not so {plan}",
    "{safe} pays little for sure I choose {plan}",
    "I try {plan}",
)


def frozen_lake(environment: Environment, plan: list[str], rng: np.random.Generator) -> str:
    drawing = environment.drawing()
    me, goal = tuple(drawing["agent"]), _find(drawing, "goal")[0]
    return say(GRID_WORDINGS, rng, me=_at(me), goal=_at(goal), way=_way(me, goal), plan=" ".join(plan))


def sokoban(environment: Environment, plan: list[str], rng: np.random.Generator) -> str:
    drawing = environment.drawing()
    me = tuple(drawing["agent"])
    boxes, targets = _find(drawing, "box"), _find(drawing, "target")
    box = min(boxes or [me], key=lambda cell: _distance(cell, me))
    target = min(targets or [me], key=lambda cell: _distance(cell, box))
    return say(
        PUSH_WORDINGS, rng, me=_at(me), box=_at(box), target=_at(target), way=_way(box, target), plan=" ".join(plan)
    )


def bandit(environment: Environment, plan: list[str], rng: np.random.Generator) -> str:
    """What the names suggest, whichever arm it is that pays more."""
    first, second = (arm["name"] for arm in environment.drawing()["arms"])
    safe, risky = (first, second) if first in SAFE_SOUNDING else (second, first)
    return say(ARM_WORDINGS, rng, safe=safe, risky=risky, plan=" ".join(plan))


THINKERS: dict[str, Thinker] = {
    "frozen_lake": frozen_lake,
    "sokoban": sokoban,
    "bandit": bandit,
    "countdown": arithmetic_thoughts.countdown,
    "sudoku": board_thoughts.sudoku,
    "game_2048": board_thoughts.game_2048,
    "rubiks_cube": board_thoughts.rubiks_cube,
    "static": arithmetic_thoughts.question,
    "metamathqa": arithmetic_thoughts.word_problem,
    "spatial": seen_rooms.perspective,
}


def thought(environment: Environment, plan: list[str], rng: np.random.Generator) -> str:
    thinker = THINKERS.get(environment.kind)
    return thinker(environment, plan, rng) if thinker else say(PLAIN_WORDINGS, rng, plan=" ".join(plan))


def _find(drawing: Drawing, name: str) -> list[tuple[int, int]]:
    return [
        (row, column) for row, cells in enumerate(drawing["cells"]) for column, cell in enumerate(cells) if cell == name
    ]


def _at(cell: tuple[int, ...]) -> str:
    return f"{cell[0]} {cell[1]}"


def _distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _way(start: tuple[int, ...], end: tuple[int, ...]) -> str:
    down, right = end[0] - start[0], end[1] - start[1]
    vertical = f"{abs(down)} {'down' if down > 0 else 'up'}" if down else ""
    horizontal = f"{abs(right)} {'right' if right > 0 else 'left'}" if right else ""
    return " ".join(part for part in (vertical, horizontal) if part) or "here"
