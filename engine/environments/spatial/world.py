"""Rooms on a grid, objects that face somewhere, doors, and what can be seen from where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.environments.spatial.geometry import (
    BEYOND,
    EAST,
    NORTH,
    SOUTH,
    TURNS,
    WALLS,
    WEST,
    Point,
    bearing,
    cardinal_bin,
    distance,
    distance_bin,
    ego_bin,
    quarter_turns,
)

CLOSE: Final = 2.0  # objects nearer to each other than this are also described relative to each other
NOTHING_SEEN: Final = "There is nothing in your view."


@dataclass(frozen=True, slots=True)
class Pose:
    position: Point
    facing: Point


@dataclass(frozen=True, slots=True)
class Thing:
    """An object, or a door, which faces nowhere and belongs to two rooms."""

    name: str
    position: Point
    facing: Point | None
    rooms: frozenset[int]


@dataclass(frozen=True, slots=True)
class Room:
    """A rectangle of free cells; both corners belong to it."""

    low: Point
    high: Point

    @property
    def cells(self) -> list[Point]:
        return [(x, y) for x in range(self.low[0], self.high[0] + 1) for y in range(self.low[1], self.high[1] + 1)]

    def contains(self, point: Point) -> bool:
        return self.low[0] <= point[0] <= self.high[0] and self.low[1] <= point[1] <= self.high[1]

    def wall_of(self, door: Point) -> Point:
        """The side of the room that a door in its walls is on."""
        if door[0] > self.high[0]:
            return EAST
        if door[0] < self.low[0]:
            return WEST
        return NORTH if door[1] > self.high[1] else SOUTH


@dataclass(frozen=True, slots=True)
class World:
    width: int
    height: int
    rooms: tuple[Room, ...]
    doors: tuple[Thing, ...]
    objects: tuple[Thing, ...]
    start: Pose

    @property
    def things(self) -> tuple[Thing, ...]:
        return (*self.objects, *self.doors)

    def named(self, name: str) -> Thing | None:
        wanted = " ".join(name.lower().split())
        return next((thing for thing in self.things if thing.name == wanted), None)

    def rooms_at(self, point: Point) -> frozenset[int]:
        """The room of a cell; both rooms of a door."""
        door = next((one for one in self.doors if one.position == point), None)
        if door is not None:
            return door.rooms
        return frozenset(index for index, room in enumerate(self.rooms) if room.contains(point))

    def visible(self, pose: Pose) -> list[Thing]:
        """What is in the same room, within 45 degrees of ahead and not underfoot, from left to right."""
        here = self.rooms_at(pose.position)
        found = [
            (bearing(pose.position, pose.facing, thing.position), thing)
            for thing in self.things
            if thing.rooms & here and thing.position != pose.position
        ]
        seen = [(angle, thing) for angle, thing in found if ego_bin(angle) != BEYOND]
        return [thing for _, thing in sorted(seen, key=lambda one: (round(one[0], 6), one[1].name))]

    def relation(self, pose: Pose, thing: Thing) -> str:
        """`front-left, near, facing right`; of a door, the wall that it is in."""
        direction = ego_bin(bearing(pose.position, pose.facing, thing.position))
        return f"{direction}, {distance_bin(distance(pose.position, thing.position))}, {self.side(pose, thing)}"

    def side(self, pose: Pose, thing: Thing) -> str:
        if thing.facing is not None:
            return f"facing {TURNS[quarter_turns(thing.facing, pose.facing)]}"
        room = self.rooms[min(thing.rooms & self.rooms_at(pose.position), default=min(thing.rooms))]
        return f"on {WALLS[quarter_turns(room.wall_of(thing.position), pose.facing)]} wall"

    def view(self, pose: Pose) -> tuple[str, ...]:
        """`chair: front-left, near, facing right` of each visible thing, from left to right."""
        return tuple(f"{thing.name}: {self.relation(pose, thing)}" for thing in self.visible(pose))

    def observation(self, pose: Pose) -> str:
        """The view, and how visible things that are close together lie to each other, with ahead as north."""
        seen = self.visible(pose)
        if not seen:
            return NOTHING_SEEN
        close = [
            f"- {one.name} is {cardinal_bin(other.position, one.position, pose.facing)} of {other.name}"
            for index, one in enumerate(seen)
            for other in seen[index + 1 :]
            if distance(one.position, other.position) < CLOSE
        ]
        lines = [f"- {line}" for line in self.view(pose)]
        return "\n".join([*lines, *(["Taking ahead as north:", *close] if close else [])])
