"""Directions, bearings and distances on a grid of whole numbers, and the words for them.

x grows to the right and y upward; north is (0, 1). Bearings are clockwise from where one faces, in (-180, 180] degrees.
The bins are those of ToS_Base, which RAGEN's SpatialGym builds on.
"""

from __future__ import annotations

import math
from typing import Final

Point = tuple[int, int]

NORTH, EAST, SOUTH, WEST = (0, 1), (1, 0), (0, -1), (-1, 0)
FACINGS: Final[dict[Point, str]] = {NORTH: "north", EAST: "east", SOUTH: "south", WEST: "west"}  # clockwise
TURNS: Final = ("forward", "right", "backward", "left")  # by quarter turns clockwise
WALLS: Final = ("front", "right", "back", "left")
EGO_BINS: Final = ("front-left", "front-slight-left", "front", "front-slight-right", "front-right")
BEYOND: Final = "beyond-fov"
CARDINAL_BINS: Final = (
    *("north", "north east", "east", "south east"),
    *("south", "south west", "west", "north west"),
)
DISTANCE_BINS: Final[tuple[tuple[float, str], ...]] = (
    (0, "same distance"),
    (2, "near"),
    (4, "mid distance"),
    (8, "slightly far"),
    (16, "far"),
    (32, "very far"),
    (64, "extremely far"),
)
HALF_VIEW: Final = 45.0  # degrees to each side
TOLERANCE: Final = 1e-3


def bearing(origin: Point, facing: Point, target: Point) -> float:
    """Degrees from `facing` to `target`, clockwise positive."""
    direction = math.degrees(math.atan2(target[0] - origin[0], target[1] - origin[1]))
    angle = (direction - math.degrees(math.atan2(*facing)) + 180) % 360 - 180
    return angle + 360 if angle <= -180 + TOLERANCE else angle


def distance(one: Point, other: Point) -> float:
    return math.dist(one, other)


def ego_bin(angle: float) -> str:
    """0 is front, up to 22.5 degrees slightly to a side, up to 45 to that side, and the rest beyond the view."""
    side = "right" if angle > 0 else "left"
    size = abs(angle)
    if size <= TOLERANCE:
        return "front"
    if size <= HALF_VIEW / 2 + TOLERANCE:
        return f"front-slight-{side}"
    return f"front-{side}" if size <= HALF_VIEW + TOLERANCE else BEYOND


def cardinal_bin(origin: Point, target: Point, north: Point = NORTH) -> str:
    """One of eight directions, each 45 degrees wide around its middle; `north` may be any facing."""
    return CARDINAL_BINS[int((bearing(origin, north, target) % 360 + 22.5) // 45) % 8]


def distance_bin(length: float) -> str:
    return next(word for most, word in DISTANCE_BINS if length <= most + TOLERANCE)


def turned(facing: Point, degrees: int) -> Point:
    """`facing` after a turn of a multiple of 90 degrees, clockwise positive."""
    order = list(FACINGS)
    return order[(order.index(facing) + degrees // 90) % 4]


def quarter_turns(of: Point, seen_by: Point) -> int:
    """Quarter turns clockwise from the facing `seen_by` to the facing `of`."""
    order = list(FACINGS)
    return (order.index(of) - order.index(seen_by)) % 4
