"""Sokoban levels and their solutions: rooms carved by a random walk, boxes pulled away from their targets.

Playing backwards from the solved room makes every level solvable, in at most as many moves as were played back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

Place = tuple[int, int]
Boxes = frozenset[Place]
State = tuple[Place, Boxes]
MOVES: tuple[Place, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))  # Up Down Left Right
MAX_STATES = 20_000


@dataclass(frozen=True, slots=True)
class Level:
    """A room: where one can walk, the targets, and the first state."""

    rows: int
    columns: int
    floor: frozenset[Place]
    targets: Boxes
    player: Place
    boxes: Boxes


@lru_cache(maxsize=4096)
def make_level(seed: int, rows: int, columns: int, boxes: int, depth: int) -> Level:
    """The level of `seed`: rooms are drawn until one has a state that is unsolved after at most `depth` moves back."""
    chance = np.random.default_rng([seed, rows, columns, boxes, depth])
    while True:
        floor = _carve(chance, rows, columns)
        if len(floor) < 2 * boxes + 3:
            continue
        places = sorted(floor)
        chosen = [places[i] for i in chance.permutation(len(places))[: boxes + 1]]
        targets, player = frozenset(chosen[:boxes]), chosen[boxes]
        starts = _unsolved_states(floor, targets, player, depth)
        if starts:
            player, placed = starts[int(chance.integers(len(starts)))]
            return Level(rows, columns, floor, targets, player, placed)


def solve(level: Level, player: Place, boxes: Boxes) -> list[int] | None:
    """A shortest list of moves that puts every box on a target; None if there is none in 20,000 states."""
    return _solve(level, player, boxes)


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


@lru_cache(maxsize=65536)
def _solve(level: Level, player: Place, boxes: Boxes) -> list[int] | None:
    queue: deque[tuple[State, list[int]]] = deque([((player, boxes), [])])
    seen = {(player, boxes)}
    while queue and len(seen) < MAX_STATES:
        state, path = queue.popleft()
        if state[1] == level.targets:
            return path
        for action, move in enumerate(MOVES):
            following = push(level.floor, state, move)
            if following is not None and following not in seen:
                seen.add(following)
                queue.append((following, [*path, action]))
    return None


def _unsolved_states(floor: frozenset[Place], targets: Boxes, player: Place, depth: int) -> list[State]:
    """States reached by walking and pulling back at most `depth` moves from the solved room, every box off its target.

    Deep ones come first in difficulty: the shallower half is left out when there are deeper ones.
    """
    queue: deque[tuple[State, int]] = deque(((start, targets), 0) for start in _around(floor, targets, player))
    seen = {state for state, _ in queue}
    found: list[tuple[int, State]] = []
    while queue and len(seen) < MAX_STATES:
        state, moves = queue.popleft()
        if not state[1] & targets:
            found.append((moves, state))
        if moves < depth:
            for following in _back(floor, state):
                if following not in seen:
                    seen.add(following)
                    queue.append((following, moves + 1))
    deepest = max((moves for moves, _ in found), default=0)
    return [state for moves, state in found if 2 * moves >= deepest]


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
