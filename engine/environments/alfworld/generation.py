"""Draws households from seeds: a floor plan, a task that can be done in it, and where the objects are.

Training and evaluation never share a problem. A fifth of all floor plans are unseen in training, and so is a fifth of
all combinations of a task, an object and a receptacle; evaluation draws from either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from engine.environments.alfworld.catalogue import (
    APPLIANCES,
    FITS,
    FOUND_IN,
    ROOMS,
    TREATABLE,
    TREATMENTS,
    TaskType,
    type_of,
)
from engine.environments.alfworld.household import Household, Task
from engine.environments.base import Split

PLANS = 30  # floor plans of each room
UNSEEN_FROM = 24  # the first that training never has
Evaluation = Literal["seen", "unseen"]
CLUTTER: Final = {"kitchen": (12, 20), "living room": (8, 14), "bedroom": (8, 14), "bathroom": (6, 10)}


def make_household(seed: int, split: Split, evaluation: Evaluation, tasks: tuple[TaskType, ...]) -> Household:
    """A household with a task of one of `tasks` that can be done and has not been yet."""
    rng = np.random.default_rng([seed, 11])
    kind = tasks[int(rng.integers(len(tasks)))]
    unseen = split == "held_out" and evaluation == "unseen"
    while True:
        room = list(ROOMS)[int(rng.integers(len(ROOMS)))]
        plan = int(rng.integers(UNSEEN_FROM, PLANS) if unseen else rng.integers(UNSEEN_FROM))
        receptacles = floor_plan(room, plan)
        found = [task for task in _tasks(kind, room, receptacles) if unseen or _kept(task) == (split == "held_out")]
        if found:
            chosen = found[int(rng.integers(len(found)))]
            task = Task(chosen.type, chosen.object, chosen.target, wording=int(rng.integers(2)))
            return Household(room, receptacles, task, _scatter(rng, room, receptacles, task))


@lru_cache(maxsize=256)
def floor_plan(room: str, plan: int) -> tuple[str, ...]:
    """The receptacles of one floor plan of a room, by type and falling number, as ALFWorld lists them."""
    rng = np.random.default_rng([list(ROOMS).index(room), plan, 12])
    amounts = {kind: int(rng.integers(least, most + 1)) for kind, (least, most) in ROOMS[room].items()}
    return tuple(f"{kind} {number}" for kind, amount in amounts.items() for number in range(amount, 0, -1))


@lru_cache(maxsize=1024)
def _tasks(kind: TaskType, room: str, receptacles: tuple[str, ...]) -> tuple[Task, ...]:
    """Every task of the kind that the room has the receptacles for."""
    types = sorted({type_of(name) for name in receptacles})
    return tuple(Task(kind, *pair) for pair in _pairs(kind, FOUND_IN[room], types))


def _pairs(kind: TaskType, objects: tuple[str, ...], receptacles: list[str]) -> Iterator[tuple[str, str]]:
    treatment = TREATMENTS.get(kind)
    if treatment and APPLIANCES[treatment] not in receptacles:
        return
    for name in objects:
        homes = [receptacle for receptacle in receptacles if receptacle in FITS[name]]
        if kind == "look_at_obj_in_light":
            if homes and set(receptacles) & set(FITS["desklamp"]) - {"shelf"}:
                yield name, "desklamp"
        elif (treatment is None or name in TREATABLE[treatment]) and len(homes) > 1:  # it is elsewhere at the start
            yield from ((name, target) for target in homes)


@lru_cache(maxsize=4096)
def _kept(task: Task) -> bool:
    """Whether this combination of a task, an object and a receptacle is kept for evaluation."""
    text = f"{task.type} {task.object} {task.target}"
    return hashlib.sha256(text.encode()).digest()[0] % 5 == 0


def _scatter(rng: np.random.Generator, room: str, receptacles: tuple[str, ...], task: Task) -> dict[str, str]:
    """Where each object is. Those asked for are not where they are asked for; the rest is clutter."""
    least, most = CLUTTER[room]
    names = [str(one) for one in rng.choice(FOUND_IN[room], size=int(rng.integers(least, most + 1)))]
    names = [name for name in names if name != task.object]
    names += [task.object] * int(rng.integers(2, 4) if task.type == "pick_two_obj_and_place" else rng.integers(1, 3))
    lamp_room = room in ("bedroom", "living room")
    if task.target == "desklamp" or (lamp_room and rng.random() < 0.5):
        names.append("desklamp")
    order = rng.permutation(len(names))
    numbers: dict[str, int] = {}
    contents: dict[str, str] = {}
    for name in sorted(names[index] for index in order):
        homes = [one for one in receptacles if type_of(one) in FITS[name]]
        if name == task.object:
            homes = [one for one in homes if type_of(one) != task.target]
        if homes:
            numbers[name] = numbers.get(name, 0) + 1
            contents[f"{name} {numbers[name]}"] = homes[int(rng.integers(len(homes)))]
    return contents
