"""What questions of all kinds share, and the kinds of a world that is remembered as a map.

A maker draws a question from a world, or returns None if the world has none of its kind; then another world is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final, TypeVar

import numpy as np

from engine.environments.spatial.geometry import (
    CARDINAL_BINS,
    DISTANCE_BINS,
    EGO_BINS,
    FACINGS,
    Point,
    bearing,
    cardinal_bin,
    distance,
    distance_bin,
    ego_bin,
)
from engine.environments.spatial.world import Pose, Thing, World

LETTERS: Final = "ABCD"
ORDER_GAP: Final = 15.0  # degrees between things whose order is asked for
TURN_GAP: Final = 30.0  # the same where the direction of a turn is asked for
LONGEST_ORDER: Final = 7
MOST_OBJECTS: Final = 4  # in one option
NONE: Final = "none of them"


@dataclass(frozen=True, slots=True)
class Question:
    kind: str
    text: str
    options: tuple[str, ...]
    answer: str  # a letter

    def __str__(self) -> str:
        listed = [f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=False)]
        return "\n".join([self.text, *listed])

    def letter_of(self, words: str) -> str:
        """The letter of the option with these words; empty if there is none."""
        wanted = " ".join(words.lower().split())
        options = zip(LETTERS, self.options, strict=False)
        return next((letter for letter, option in options if option.lower() == wanted), "")


T = TypeVar("T")
Maker = Callable[[World, np.random.Generator], Question | None]


def choose(
    kind: str, text: str, right: str, wrong: Iterable[str], rng: np.random.Generator, *, options: int = 4
) -> Question | None:
    """A question with the right option and the first different wrong ones, shuffled; None if those are too few."""
    found = list(dict.fromkeys(one for one in wrong if one != right))[: options - 1]
    if len(found) < options - 1:
        return None
    listed = shuffled([right, *found], rng)
    return Question(kind, text, tuple(listed), LETTERS[listed.index(right)])


def shuffled(items: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [items[int(index)] for index in rng.permutation(len(items))]


def near_misses(words: Sequence[str], word: str, *, wraps: bool) -> list[str]:
    """The words one or two positions away."""
    index = words.index(word)
    positions = [index + step for step in (1, -1, 2, -2)]
    return [words[p % len(words)] for p in positions if wraps or 0 <= p < len(words)]


def wrong_relations(
    directions: Sequence[str], direction: str, length: str, rng: np.random.Generator, *, wraps: bool
) -> list[str]:
    """Relations of which the direction, the distance or both are one or two bins off."""
    lengths = [word for _, word in DISTANCE_BINS][1:]
    other_directions = near_misses(directions, direction, wraps=wraps)
    other_lengths = near_misses(lengths, length, wraps=False)
    pairs = [
        *((other, length) for other in other_directions),
        *((direction, other) for other in other_lengths),
        *((one, other) for one in other_directions for other in other_lengths),
    ]
    return [", ".join(pair) for pair in shuffled(pairs, rng)]


def ask_direction(world: World, rng: np.random.Generator) -> Question | None:
    one, other = shuffled(world.objects, rng)[:2]
    direction = cardinal_bin(other.position, one.position)
    length = distance_bin(distance(other.position, one.position))
    return choose(
        "dir",
        f"Where is the {one.name} from the {other.name}? Your facing at the start is north.",
        f"{direction}, {length}",
        wrong_relations(CARDINAL_BINS, direction, length, rng, wraps=True),
        rng,
    )


def ask_rotation(world: World, rng: np.random.Generator) -> Question | None:
    clockwise = bool(rng.integers(2))
    names = _order(world, rng, ORDER_GAP, clockwise=clockwise)
    if names is None:
        return None
    rotated = [names[index:] + names[:index] for index in range(1, len(names))]
    swapped = [list(order) for order in permutations(names[:4])] if len(names) <= 4 else []
    swapped = swapped or [_swap(names, index) for index in range(len(names) - 1)]
    wrong = shuffled([names[::-1], *rotated, *swapped], rng)
    return choose(
        "rot",
        f"At the start, you turn {_sense(clockwise)} once around on the spot. In which order do you come to face these "
        "objects?",
        ", ".join(names),
        (", ".join(order) for order in wrong),
        rng,
    )


def ask_turn(world: World, rng: np.random.Generator) -> Question | None:
    clockwise = bool(rng.integers(2))
    names = _order(world, rng, TURN_GAP, clockwise=clockwise)
    if names is None:
        return None
    return choose(
        "rot_dual",
        f"At the start, you turn once around on the spot and come to face, in this order: {', '.join(names)}. In which "
        "direction did you turn?",
        _sense(clockwise),
        [_sense(not clockwise)],
        rng,
        options=2,
    )


def _sense(clockwise: bool) -> str:
    return "clockwise" if clockwise else "counterclockwise"


def _swap(names: list[str], index: int) -> list[str]:
    return [*names[:index], names[index + 1], names[index], *names[index + 2 :]]


def _order(world: World, rng: np.random.Generator, gap: float, *, clockwise: bool) -> list[str] | None:
    """Three to seven objects, at least `gap` degrees apart around the start, in the order that they come to face."""
    angles: dict[str, float] = {}
    for thing in shuffled(world.objects, rng):
        angle = bearing(world.start.position, world.start.facing, thing.position) % 360
        if all(gap <= abs(angle - other) <= 360 - gap for other in angles.values()) and len(angles) < LONGEST_ORDER:
            angles[thing.name] = angle
    if len(angles) < 3:
        return None
    return sorted(angles, key=lambda name: angles[name] if clockwise else -angles[name] % 360)


def ask_perspective(world: World, rng: np.random.Generator) -> Question | None:
    seen = [pair for pair in _seen_from_objects(world) if pair[1].facing is not None]
    if not seen:
        return None
    one, other = seen[int(rng.integers(len(seen)))]
    direction, length = _ego(one, other)
    return choose(
        "pov",
        f"You stand at the {one.name} and face the way it faces. Where is the {other.name}?",
        f"{direction}, {length}",
        wrong_relations(EGO_BINS, direction, length, rng, wraps=False),
        rng,
    )


def ask_viewer(world: World, rng: np.random.Generator) -> Question | None:
    """Other options are objects that see it elsewhere or not at all, and that it is none of them, which is right in a
    quarter of the questions. Where there are few objects there are fewer options."""
    seen = [pair for pair in _seen_from_objects(world) if pair[1].facing is not None]
    if not seen:
        return None
    one, other = seen[int(rng.integers(len(seen)))]
    relation = _ego(one, other)
    wrong = [
        thing.name
        for thing in shuffled(world.objects, rng)
        if thing not in (one, other) and ((thing, other) not in seen or _ego(thing, other) != relation)
    ]
    if not wrong:
        return None
    is_none = rng.random() < 1 / 4
    wrong = wrong[:3] if is_none else [*wrong[:2], NONE]
    return choose(
        "bwd_pov",
        f"You stand at an object and face the way it faces. The {other.name} is {', '.join(relation)}. Which object is "
        "it?",
        NONE if is_none else one.name,
        wrong,
        rng,
        options=1 + len(wrong),
    )


def _seen_from_objects(world: World) -> list[tuple[Thing, Thing]]:
    """Pairs of which the first, facing as it does, sees the second."""
    return [(one, other) for one in world.objects for other in world.visible(pose_of(one))]


def pose_of(thing: Thing) -> Pose:
    if thing.facing is None:
        raise ValueError(f"{thing.name} faces nowhere.")
    return Pose(thing.position, thing.facing)


def _ego(one: Thing, other: Thing) -> tuple[str, str]:
    pose = pose_of(one)
    angle = bearing(pose.position, pose.facing, other.position)
    return ego_bin(angle), distance_bin(distance(pose.position, other.position))


def ask_coordinates(world: World, rng: np.random.Generator) -> Question | None:
    objects = shuffled(world.objects, rng)[:MOST_OBJECTS]
    placed = [(thing.name, _from_start(world, thing.position), FACINGS[pose_of(thing).facing]) for thing in objects]
    wrong = [_altered(world, placed, rng) for _ in range(12)]
    return choose(
        "e2a",
        "You start at (0, 0); x grows to your right and y ahead, which is north. Which list is right?",
        _listed(placed),
        (_listed(one) for one in wrong),
        rng,
    )


Placed = tuple[str, Point, str]


def _from_start(world: World, point: Point) -> Point:
    return point[0] - world.start.position[0], point[1] - world.start.position[1]


def _listed(placed: Iterable[Placed]) -> str:
    return "; ".join(f"{name} at {point} facing {facing}" for name, point, facing in placed)


def _altered(world: World, placed: list[Placed], rng: np.random.Generator) -> list[Placed]:
    """The list with one position or one facing wrong; a position so that even its bins are."""
    index = int(rng.integers(len(placed)))
    name, point, facing = placed[index]
    if rng.integers(2):
        facing = shuffled([word for word in FACINGS.values() if word != facing], rng)[0]
    else:
        point = next(cell for cell in shuffled(_cells_from_start(world), rng) if _bins(cell) != _bins(point))
    return [*placed[:index], (name, point, facing), *placed[index + 1 :]]


def _cells_from_start(world: World) -> list[Point]:
    cells = [_from_start(world, cell) for room in world.rooms for cell in room.cells]
    return [cell for cell in cells if cell != (0, 0)]


def _bins(point: Point) -> tuple[str, str]:
    return cardinal_bin((0, 0), point), distance_bin(distance((0, 0), point))
