"""Draws worlds: rooms, doors between them, objects, and where one starts."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.environments.spatial.geometry import FACINGS, NORTH, Point
from engine.environments.spatial.world import Pose, Room, Thing, World

OBJECTS: Final = (
    *("chair", "sofa", "bookshelf", "cabinet", "television", "refrigerator", "microwave", "oven"),
    *("computer", "printer", "scanner", "monitor", "projector", "whiteboard", "air conditioner"),
)
DOOR_COLORS: Final = ("red", "blue", "green", "yellow", "purple", "orange", "black", "white", "brown", "gray")
SMALLEST: Final = 4  # cells along a side of a room
ATTEMPTS: Final = 50


def most_rooms(width: int, height: int) -> int:
    """How many rooms of the smallest size fit, with a wall between them."""
    return ((width + 1) // (SMALLEST + 1)) * ((height + 1) // (SMALLEST + 1))


def make_world(rng: np.random.Generator, size: tuple[int, int], rooms: int, main: int, objects: int) -> World:
    """A world of that many rooms; a single one is square, with `main` cells along a side, in the middle."""
    width, height = size
    rectangles = [_middle(size, main)] if rooms == 1 else _divide(rng, size, rooms)
    doors = _doors(rng, rectangles)
    free = [cell for room in rectangles for cell in room.cells]
    position = rectangles[0].cells[int(rng.integers(len(rectangles[0].cells)))]
    free.remove(position)
    cells = [free[int(index)] for index in rng.choice(len(free), size=objects, replace=False)]
    names = [OBJECTS[int(index)] for index in rng.choice(len(OBJECTS), size=objects, replace=False)]
    facings = [list(FACINGS)[int(index)] for index in rng.integers(4, size=objects)]
    things = tuple(
        Thing(name, cell, facing, frozenset({_room_of(rectangles, cell)}))
        for name, cell, facing in zip(names, cells, facings, strict=True)
    )
    return World(width, height, tuple(rectangles), doors, things, Pose(position, NORTH))


def _room_of(rooms: list[Room], cell: Point) -> int:
    return next(index for index, room in enumerate(rooms) if room.contains(cell))


def _middle(size: tuple[int, int], main: int) -> Room:
    sides = [min(max(main, SMALLEST), max(length - 4, SMALLEST)) for length in size]
    low = ((size[0] - sides[0]) // 2, (size[1] - sides[1]) // 2)
    return Room(low, (low[0] + sides[0] - 1, low[1] + sides[1] - 1))


def _divide(rng: np.random.Generator, size: tuple[int, int], rooms: int) -> list[Room]:
    """Cuts the area by walls until there are enough rooms; with bad luck, into equal ones, of which all fit."""
    whole = Room((0, 0), (size[0] - 1, size[1] - 1))
    for _ in range(ATTEMPTS):
        found = [whole]
        while len(found) < rooms:
            cuts = [
                (index, axis, wall) for index, room in enumerate(found) for axis in (0, 1) for wall in _cuts(room, axis)
            ]
            if not cuts:
                break
            index, axis, wall = cuts[int(rng.integers(len(cuts)))]
            found[index : index + 1] = _cut(found[index], axis, wall)
        if len(found) == rooms:
            return [found[int(index)] for index in rng.permutation(rooms)]
    step = SMALLEST + 1
    across = (size[0] + 1) // step
    corners = [(index % across * step, index // across * step) for index in range(rooms)]
    return [Room((x, y), (x + SMALLEST - 1, y + SMALLEST - 1)) for x, y in corners]


def _cuts(room: Room, axis: int) -> range:
    """Where a wall leaves the smallest size on both sides."""
    return range(room.low[axis] + SMALLEST, room.high[axis] - SMALLEST + 1)


def _cut(room: Room, axis: int, wall: int) -> list[Room]:
    if axis == 0:
        return [Room(room.low, (wall - 1, room.high[1])), Room((wall + 1, room.low[1]), room.high)]
    return [Room(room.low, (room.high[0], wall - 1)), Room((room.low[0], wall + 1), room.high)]


def _doors(rng: np.random.Generator, rooms: list[Room]) -> tuple[Thing, ...]:
    """One door for each pair of a random spanning tree of neighbours."""
    walls = [(a, b, cells) for a in range(len(rooms)) for b in range(a) if (cells := _shared_wall(rooms[a], rooms[b]))]
    colors = [DOOR_COLORS[int(index)] for index in rng.permutation(len(DOOR_COLORS))]
    joined = [{index} for index in range(len(rooms))]
    doors: list[Thing] = []
    for index in rng.permutation(len(walls)):
        a, b, cells = walls[int(index)]
        if joined[a] is joined[b]:
            continue
        joined[a] |= joined[b]
        for room in joined[a]:
            joined[room] = joined[a]
        cell = cells[int(rng.integers(len(cells)))]
        doors.append(Thing(f"{colors[len(doors)]} door", cell, None, frozenset({a, b})))
    return tuple(doors)


def _shared_wall(one: Room, other: Room) -> list[Point]:
    """The cells between two rooms that are one wall apart."""
    cells = []
    for axis in (0, 1):
        for left, right in ((one, other), (other, one)):
            if left.high[axis] + 2 == right.low[axis]:
                across = 1 - axis
                lowest = max(left.low[across], right.low[across])
                highest = min(left.high[across], right.high[across])
                wall = left.high[axis] + 1
                cells += [(wall, c) if axis == 0 else (c, wall) for c in range(lowest, highest + 1)]
    return cells
