"""Sokoban levels and their solutions: rooms carved by a random walk, boxes pulled away from their targets.

Playing backwards from the solved room, breadth first, makes every level solvable and tells how far it is from solved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from engine.errors import ConfigError

Place = tuple[int, int]
Boxes = frozenset[Place]
State = tuple[Place, Boxes]
MOVES: tuple[Place, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))  # Up Down Left Right
MAX_STATES = 20_000
MAX_ROOMS = 20_000
FLOOR_PER_BOX = 4  # inner places that a room needs for each box, for levels to be found in reasonable time


@dataclass(frozen=True, slots=True)
class Level:
    """A room: where one can walk, the targets, the first state, and a shortest solution of it where one is known."""

    rows: int
    columns: int
    floor: frozenset[Place]
    targets: Boxes
    player: Place
    boxes: Boxes
    solution: tuple[int, ...] | None = field(default=None, compare=False)


def why_impossible(rows: int, columns: int, boxes: int, depth: int) -> str:
    """The parameter that allows no levels, and why; empty when they can be made."""
    inside = (rows - 2) * (columns - 2)
    if boxes * FLOOR_PER_BOX > inside:
        most = inside // FLOOR_PER_BOX
        return f"boxes: {boxes} do not fit into {rows} x {columns}; use {most} at most, or a larger room."
    least = 2 * (boxes - 1)
    return f"depth: {depth} is too little to move {boxes} boxes; use {least} or more." if depth < least else ""


@lru_cache(maxsize=4096)
def make_level(seed: int, rows: int, columns: int, boxes: int, depth: int) -> Level:
    """The level of `seed`: rooms are drawn until one has a state that is unsolved after at most `depth` moves back."""
    chance = np.random.default_rng([seed, rows, columns, boxes, depth])
    for _ in range(MAX_ROOMS):
        level = _draw_level(chance, rows, columns, boxes, depth)
        if level is not None:
            return level
    raise ConfigError(
        f"No Sokoban level of {rows} x {columns} with {boxes} boxes and depth {depth} was found.",
        remedy="Use fewer boxes, a larger room or more depth.",
    )


def _draw_level(chance: np.random.Generator, rows: int, columns: int, boxes: int, depth: int) -> Level | None:
    floor = _carve(chance, rows, columns)
    if len(floor) < 2 * boxes + 3:
        return None
    places = sorted(floor)
    chosen = [places[i] for i in chance.permutation(len(places))[: boxes + 1]]
    targets, player = frozenset(chosen[:boxes]), chosen[boxes]
    distances = _distances_back(floor, targets, player, depth)
    starts = _unsolved_states(distances, targets)
    if not starts:
        return None
    start = starts[int(chance.integers(len(starts)))]
    return Level(rows, columns, floor, targets, *start, solution=_descend(floor, start, distances))


@lru_cache(maxsize=16384)
def solve(level: Level, player: Place, boxes: Boxes) -> tuple[int, ...] | None:
    """A shortest list of moves that puts every box on a target; None if none is found in 20,000 states."""
    if level.solution is not None and (player, boxes) == (level.player, level.boxes):
        return level.solution
    queue: deque[tuple[State, tuple[int, ...]]] = deque([((player, boxes), ())])
    seen = {(player, boxes)}
    while queue and len(seen) < MAX_STATES:
        state, path = queue.popleft()
        if state[1] == level.targets:
            return path
        for action, move in enumerate(MOVES):
            following = push(level.floor, state, move)
            if following is not None and following not in seen:
                seen.add(following)
                queue.append((following, (*path, action)))
    return None


def push(floor: frozenset[Place], state: State, move: Place) -> State | None:
    """The state after a step in the direction `move`, pushing a box if one is there; None when nothing moves."""
    player, boxes = state
    ahead = _plus(player, move)
    if ahead not in floor:
        return None
    if ahead not in boxes:
        return ahead, boxes
    beyond = _plus(ahead, move)
    if beyond not in floor or beyond in boxes:
        return None
    return ahead, (boxes - {ahead}) | {beyond}


def _distances_back(floor: frozenset[Place], targets: Boxes, player: Place, depth: int) -> dict[State, int]:
    """How many moves each state is from solved, for the states at most `depth` moves back; nearest first."""
    distances: dict[State, int] = {(start, targets): 0 for start in _around(floor, targets, player)}
    queue = deque(distances)
    while queue and len(distances) < MAX_STATES:
        state = queue.popleft()
        if distances[state] == depth:
            break
        for before in _back(floor, state):
            if before not in distances:
                distances[before] = distances[state] + 1
                queue.append(before)
    return distances


def _unsolved_states(distances: dict[State, int], targets: Boxes) -> list[State]:
    """States with every box off its target; of these the farther half of the way, so that levels are not trivial."""
    found = [(moves, state) for state, moves in distances.items() if not state[1] & targets]
    farthest = max((moves for moves, _ in found), default=0)
    return [state for moves, state in found if 2 * moves >= farthest]


def _descend(floor: frozenset[Place], state: State, distances: dict[State, int]) -> tuple[int, ...]:
    """A shortest solution: at each state the first action that comes one move nearer to solved."""
    path: list[int] = []
    while distances[state]:
        nearer = distances[state] - 1
        followings = ((action, push(floor, state, move)) for action, move in enumerate(MOVES))
        action, state = next((a, s) for a, s in followings if s is not None and distances.get(s) == nearer)
        path.append(action)
    return tuple(path)


def _around(floor: frozenset[Place], targets: Boxes, player: Place) -> list[Place]:
    """Where the last push can have left the player: beside a target, on free floor."""
    beside = {_plus(target, move) for target in targets for move in MOVES}
    return sorted(place for place in beside | {player} if place in floor and place not in targets)


def _back(floor: frozenset[Place], state: State) -> Iterator[State]:
    """The states from which one forward move leads to `state`: stepping back, with or without pulling a box along."""
    player, boxes = state
    for move in MOVES:
        behind = _plus(player, (-move[0], -move[1]))
        if behind not in floor or behind in boxes:
            continue
        yield behind, boxes
        ahead = _plus(player, move)
        if ahead in boxes:
            yield behind, (boxes - {ahead}) | {player}


def _carve(chance: np.random.Generator, rows: int, columns: int) -> frozenset[Place]:
    """A connected room inside the border: a walk that turns a third of the time and widens as it goes."""
    place = (int(chance.integers(1, rows - 1)), int(chance.integers(1, columns - 1)))
    move = MOVES[int(chance.integers(4))]
    floor: set[Place] = {place}
    for _ in range(int(1.5 * (rows + columns))):
        if chance.random() < 0.35:
            move = MOVES[int(chance.integers(4))]
        ahead = _plus(place, move)
        if not (1 <= ahead[0] < rows - 1 and 1 <= ahead[1] < columns - 1):
            move = MOVES[int(chance.integers(4))]
            continue
        place = ahead
        floor.add(place)
        side = _plus(place, (move[1], move[0]))
        if 1 <= side[0] < rows - 1 and 1 <= side[1] < columns - 1 and chance.random() < 0.5:
            floor.add(side)
    return frozenset(floor)


def _plus(place: Place, move: Place) -> Place:
    return place[0] + move[0], place[1] + move[1]
