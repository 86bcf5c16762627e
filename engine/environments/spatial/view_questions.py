"""The kinds of questions about what is seen from where, and how one got there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.environments.spatial.geometry import (
    DISTANCE_BINS,
    EGO_BINS,
    FACINGS,
    TURNS,
    Point,
    cardinal_bin,
    distance,
    distance_bin,
)
from engine.environments.spatial.questions import Question, choose, near_misses, shuffled
from engine.environments.spatial.world import Pose, World

MOST_SEEN: Final = 3  # relations in one option
PERTURBED: Final = 0.3  # chance that a bin of a wrong option is off
TRIES: Final = 30
JUMPS: Final = 2
FAR_ENOUGH: Final = 2.0  # of a wrong position from the right one


def ask_view(world: World, rng: np.random.Generator) -> Question | None:
    """Which view a position and a facing have."""
    for _ in range(TRIES):
        pose = _random_pose(world, rng)
        if 0 < len(world.view(pose)) <= MOST_SEEN:
            break
    else:
        return None
    origin = world.objects[int(rng.integers(len(world.objects)))]
    where = _relative(pose.position, origin.position)
    return choose(
        "fwd_loc",
        f"You go to {where}, where (0, 0) is the {origin.name}, x grows to the east and y to the north, and face "
        f"{FACINGS[pose.facing]}. What do you see?",
        _text(world.view(pose)),
        _other_views(world, pose, rng),
        rng,
    )


def ask_location(world: World, rng: np.random.Generator) -> Question | None:
    """Where one is, relative to an object that is not in view."""
    for _ in range(TRIES):
        pose = _random_pose(world, rng)
        view = world.view(pose)
        hidden = [thing for thing in world.objects if thing not in world.visible(pose)]
        hidden = [thing for thing in hidden if thing.position != pose.position]
        if view and hidden:
            break
    else:
        return None
    origin = hidden[int(rng.integers(len(hidden)))]
    others = (_random_pose(world, rng) for _ in range(TRIES))
    wrong = [one for one in others if distance(one.position, pose.position) >= FAR_ENOUGH and world.view(one) != view]
    return choose(
        "bwd_loc",
        f"You see {_text(view)}. Where are you, where (0, 0) is the {origin.name}, x grows to the east and y to the "
        "north?",
        _located(pose, origin.position),
        (_located(one, origin.position) for one in wrong),
        rng,
    )


def ask_outcome(world: World, rng: np.random.Generator) -> Question | None:
    """What is seen after a walk."""
    walk = _random_walk(world, rng)
    if walk is None or not 0 < len(world.view(walk.end)) <= MOST_SEEN:
        return None
    return choose(
        "fwd_fov",
        f"From the start, you {walk.text}. What do you see?",
        _text(world.view(walk.end)),
        _other_views(world, walk.end, rng),
        rng,
    )


def ask_walk(world: World, rng: np.random.Generator) -> Question | None:
    """Which walk ends with a view: wrong ones end elsewhere, or facing elsewhere, and see something else."""
    walk = _random_walk(world, rng)
    if walk is None or not world.view(walk.end):
        return None
    view = world.view(walk.end)
    same_jumps = [walk.facing(facing) for facing in shuffled(list(FACINGS), rng)][:2]
    others = [*same_jumps, *(_random_walk(world, rng) for _ in range(TRIES))]
    wrong = [other.text for other in others if other is not None and world.view(other.end) != view]
    return choose(
        "bwd_nav",
        f"From the start, you walked, and now you see {_text(view)}. How did you walk?",
        walk.text,
        wrong,
        rng,
    )


@dataclass(frozen=True, slots=True)
class Walk:
    jumps: tuple[str, ...]  # relations
    end: Pose

    @property
    def text(self) -> str:
        steps = [f"jump to the object that is {relation} of you" for relation in self.jumps]
        return ", then ".join([*steps, f"face {FACINGS[self.end.facing]}"])

    def facing(self, facing: Point) -> Walk:
        return Walk(self.jumps, Pose(self.end.position, facing))


def _random_walk(world: World, rng: np.random.Generator) -> Walk | None:
    """Two jumps to objects of the same room, each described by a relation that only this object has, and a facing."""
    position = world.start.position
    jumps: list[str] = []
    for _ in range(JUMPS):
        reachable: dict[str, list[Point]] = {}
        for thing in world.objects:
            if thing.rooms & world.rooms_at(position) and thing.position != position:
                direction = cardinal_bin(position, thing.position)
                relation = f"{direction} ({distance_bin(distance(position, thing.position))})"
                reachable.setdefault(relation, []).append(thing.position)
        unique = [(relation, cells[0]) for relation, cells in reachable.items() if len(cells) == 1]
        if not unique:
            return None
        relation, position = unique[int(rng.integers(len(unique)))]
        jumps.append(relation)
    return Walk(tuple(jumps), Pose(position, list(FACINGS)[int(rng.integers(4))]))


def _random_pose(world: World, rng: np.random.Generator) -> Pose:
    room = world.rooms[int(rng.integers(len(world.rooms)))]
    cell = room.cells[int(rng.integers(len(room.cells)))]
    return Pose(cell, list(FACINGS)[int(rng.integers(4))])


def _other_views(world: World, pose: Pose, rng: np.random.Generator) -> list[str]:
    """Views with other facings, from other positions, and with other bins, in any order."""
    turned = [Pose(pose.position, facing) for facing in FACINGS if facing != pose.facing]
    elsewhere = [_random_pose(world, rng) for _ in range(6)]
    views = [world.view(one) for one in (*turned, *elsewhere)]
    seen = [_text(view) for view in views if 0 < len(view) <= MOST_SEEN]
    perturbed = [_text(_perturbed(world.view(pose), rng)) for _ in range(8)]
    return shuffled([*dict.fromkeys(seen), *dict.fromkeys(perturbed)], rng)


def _perturbed(view: tuple[str, ...], rng: np.random.Generator) -> tuple[str, ...]:
    """The view with some of its directions, distances and facings wrong."""
    return tuple(_perturbed_relation(relation, rng) for relation in view)


def _perturbed_relation(line: str, rng: np.random.Generator) -> str:
    name, _, relation = line.partition(": ")
    direction, length, side = relation.split(", ")
    if rng.random() < PERTURBED:
        direction = shuffled(near_misses(EGO_BINS, direction, wraps=False), rng)[0]
    if rng.random() < PERTURBED:
        length = shuffled(near_misses([word for _, word in DISTANCE_BINS][1:], length, wraps=False), rng)[0]
    if rng.random() < PERTURBED and side.startswith("facing "):
        side = f"facing {shuffled([turn for turn in TURNS if not side.endswith(turn)], rng)[0]}"
    return f"{name}: {direction}, {length}, {side}"


def _text(view: tuple[str, ...]) -> str:
    return "; ".join(view)


def _relative(point: Point, origin: Point) -> Point:
    return point[0] - origin[0], point[1] - origin[1]


def _located(pose: Pose, origin: Point) -> str:
    return f"{_relative(pose.position, origin)} facing {FACINGS[pose.facing]}"
