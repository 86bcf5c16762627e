"""The 2x2x2 cube: its 24 stickers, the twelve quarter turns, and the distance of every position from solved.

With whole-cube rotations aside, one corner can be kept in position, and turns of the three faces away from it generate
the other 7! * 3^6 = 3,674,160 positions. A breadth-first search over them takes about a second and is kept as bytes.
All permutations are derived from the geometry of the stickers, so there are no tables of numbers here.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np

from engine.environments.loading import loaded_once

Vector = tuple[int, int, int]  # x to the right, y up, z towards the viewer
Stickers = tuple[int, ...]  # the colour of each, as the index of the face that it belongs to
Indices = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

FACES = "ULFRBD"
TURNS = ("U", "U'", "D", "D'", "L", "L'", "R", "R'", "F", "F'", "B", "B'")
NORMALS: dict[str, Vector] = {
    "U": (0, 1, 0),
    "L": (-1, 0, 0),
    "F": (0, 0, 1),
    "R": (1, 0, 0),
    "B": (0, 0, -1),
    "D": (0, -1, 0),
}
RIGHTWARDS: dict[str, Vector] = {  # along each face's rows as they are written; columns go downwards
    "U": (1, 0, 0),
    "L": (0, 0, 1),
    "F": (1, 0, 0),
    "R": (0, 0, -1),
    "B": (-1, 0, 0),
    "D": (1, 0, 0),
}
FIXED_CORNER: Vector = (-1, -1, -1)
GENERATORS = ("U", "U'", "R", "R'", "F", "F'")  # faces without the fixed corner
PERMUTATIONS, ORIENTATIONS = 5040, 729  # 7! and 3^6
FARTHEST = 14
SOLVED: Stickers = tuple(index // 4 for index in range(24))


def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _dot(a: Vector, b: Vector) -> int:
    return sum(p * q for p, q in zip(a, b, strict=True))


def _quarter(vector: Vector, axis: Vector) -> Vector:
    """`vector` after a quarter turn, clockwise as seen when facing the side that `axis` points out of."""
    along = _dot(vector, axis)
    x, y, z = _cross(vector, axis)
    return (x + along * axis[0], y + along * axis[1], z + along * axis[2])


def _sticker_positions() -> list[tuple[Vector, Vector]]:
    """For each sticker the corner that it is on and the normal of its face, faces in order, in reading order."""
    found = []
    for face in FACES:
        normal, right = NORMALS[face], RIGHTWARDS[face]
        down = _cross(right, normal)
        for i, j in product((-1, 1), repeat=2):
            x, y, z = (n + i * d + j * r for n, d, r in zip(normal, down, right, strict=True))
            found.append(((x, y, z), normal))
    return found


POSITIONS = _sticker_positions()
INDEX_OF = {position: index for index, position in enumerate(POSITIONS)}


def _turned(axis: Vector, *, whole: bool) -> tuple[int, ...]:
    """For each sticker's index, which sticker comes there by a clockwise turn of a face, or of the whole cube."""
    source = list(range(24))
    for index, (corner, normal) in enumerate(POSITIONS):
        if whole or _dot(corner, axis) == 1:
            source[INDEX_OF[_quarter(corner, axis), _quarter(normal, axis)]] = index
    return tuple(source)


def _inverse(source: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(24), key=source.__getitem__))


def _sources() -> dict[str, tuple[int, ...]]:
    clockwise = {face: _turned(NORMALS[face], whole=False) for face in FACES}
    return {turn: clockwise[turn[0]] if len(turn) == 1 else _inverse(clockwise[turn[0]]) for turn in TURNS}


SOURCES = _sources()


def turn(stickers: Stickers, name: str) -> Stickers:
    """The cube after the quarter turn `name`, such as `R` or `R'`."""
    return tuple(stickers[index] for index in SOURCES[name])


def is_solved(stickers: Stickers) -> bool:
    """Each face has one colour, whatever way the cube is held."""
    return all(len(set(stickers[face : face + 4])) == 1 for face in range(0, 24, 4))


def _corners() -> list[tuple[int, int, int]]:
    """The stickers of each corner, clockwise, beginning with the one on U or D; the fixed corner is the last."""
    found = []
    for x, y, z in sorted(product((-1, 1), repeat=3), reverse=True):
        first: Vector = (0, y, 0)
        second: Vector = (x, 0, 0)
        third: Vector = (0, 0, z)
        if _dot(_cross(first, second), third) > 0:  # counter-clockwise from outside
            second, third = third, second
        corner = (x, y, z)
        found.append((INDEX_OF[corner, first], INDEX_OF[corner, second], INDEX_OF[corner, third]))
    return found


CORNERS = _corners()
FIXED_HOME = tuple(SOLVED[index] for index in CORNERS[-1])


def _rotations() -> list[tuple[int, ...]]:
    """The 24 ways to hold the cube, as sources."""
    generators = [_turned(NORMALS[face], whole=True) for face in "UR"]
    found = [tuple(range(24))]
    for source in found:
        for generator in generators:
            rotated = tuple(source[index] for index in generator)
            if rotated not in found:
                found.append(rotated)
    return found


# The stickers that show the fixed corner's three colours, and the rotation that brings them home from there.
HOMEWARD = [(tuple(rotation[index] for index in CORNERS[-1]), rotation) for rotation in _rotations()]
# By its colours, clockwise from the sticker on U or D: which corner it is, and by how much it is twisted.
CORNER_OF = {
    tuple(SOLVED[indices[(offset - twist) % 3]] for offset in range(3)): (corner, twist)
    for corner, indices in enumerate(CORNERS)
    for twist in range(3)
}


def position_index(stickers: Stickers) -> int:
    """The number of a position, below 3,674,160, whatever way the cube is held."""
    first, second, third = FIXED_HOME
    for (a, b, c), rotation in HOMEWARD:
        if stickers[a] == first and stickers[b] == second and stickers[c] == third:
            return _index_of_held(stickers, rotation)
    raise ValueError("the fixed corner is nowhere; these are not the stickers of a cube")


def _index_of_held(stickers: Stickers, rotation: tuple[int, ...]) -> int:
    permutation, twists = [], 0
    for a, b, c in CORNERS[:7]:
        corner, twist = CORNER_OF[stickers[rotation[a]], stickers[rotation[b]], stickers[rotation[c]]]
        permutation.append(corner)
        if len(permutation) < 7:  # the last twist follows from the others
            twists = 3 * twists + twist
    rank = 0
    for index, corner in enumerate(permutation):
        smaller_later = [later for later in permutation[index + 1 :] if later < corner]
        rank = rank * (7 - index) + len(smaller_later)
    return rank * ORIENTATIONS + twists


def stickers_at(index: int) -> Stickers:
    """The position of a number, held with the fixed corner at home."""
    rank, twists = divmod(index, ORIENTATIONS)
    permutation = _permutations()[rank].tolist()
    twisted = [twists // 3**power % 3 for power in range(5, -1, -1)]
    twisted.append(-sum(twisted) % 3)
    stickers = list(SOLVED)
    for indices, corner, twist in zip(CORNERS[:7], permutation, twisted, strict=True):
        for offset in range(3):
            stickers[indices[(offset + twist) % 3]] = SOLVED[CORNERS[corner][offset]]
    return tuple(stickers)


@lru_cache(maxsize=1)  # 280 kB
def _permutations() -> Indices:
    """All permutations of seven corners in lexicographic order, so that the row is the rank."""
    return np.array(list(permutations(range(7))), dtype=np.int64)


def _ranks(rows: Indices) -> Indices:
    ranks = np.zeros(len(rows), dtype=np.int64)
    for index in range(7):
        later = rows[:, index + 1 :] < rows[:, index : index + 1]
        ranks = ranks * (7 - index) + later.sum(axis=1)
    return ranks


def _corner_sources(name: str) -> tuple[list[int], list[int]]:
    """For each of the seven corners, which one a turn brings there, and by how much it is twisted there."""
    at = {index: (corner, offset) for corner, indices in enumerate(CORNERS) for offset, index in enumerate(indices)}
    came = [at[SOURCES[name][indices[0]]] for indices in CORNERS[:7]]
    return [corner for corner, _ in came], [-offset % 3 for _, offset in came]


def _step_tables() -> tuple[list[Indices], list[Indices]]:
    """For each generator, the rank of the permutation after each, and the number of the twists after each."""
    digits = np.array(list(product(range(3), repeat=6)), dtype=np.int64)
    twists = np.concatenate([digits, -digits.sum(axis=1, keepdims=True) % 3], axis=1)
    powers = 3 ** np.arange(5, -1, -1)
    ranks, numbers = [], []
    for name in GENERATORS:
        corners, added = _corner_sources(name)
        ranks.append(_ranks(_permutations()[:, corners]))
        numbers.append(((twists[:, corners] + np.array(added)) % 3)[:, :6] @ powers)
    return ranks, numbers


@loaded_once(1)
def distances() -> Bytes:
    """The fewest quarter turns that solve each position, by its number. Computed once per process; 3.7 MB."""
    ranks, numbers = _step_tables()
    found: Bytes = np.full(PERMUTATIONS * ORIENTATIONS, 255, dtype=np.uint8)
    frontier = np.array([position_index(SOLVED)], dtype=np.int64)
    found[frontier] = 0
    for distance in range(1, FARTHEST + 1):
        permutation, twists = np.divmod(frontier, ORIENTATIONS)
        for rank, number in zip(ranks, numbers, strict=True):
            reached = rank[permutation] * ORIENTATIONS + number[twists]
            found[reached[found[reached] == 255]] = distance
        frontier = np.flatnonzero(found == distance)
    return found


@loaded_once(2)  # 5.4 MB for the most frequent distance, 11
def positions_at(distance: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The numbers of all positions that take `distance` quarter turns."""
    return np.flatnonzero(distances() == distance).astype(np.int32)


def shortest_solution(stickers: Stickers) -> list[int]:
    """Ids of turns, each of which reduces the distance by one."""
    table, path = distances(), []
    while left := int(table[position_index(stickers)]):
        for action, name in enumerate(TURNS):
            ahead = turn(stickers, name)
            if table[position_index(ahead)] == left - 1:
                path.append(action)
                stickers = ahead
                break
    return path
