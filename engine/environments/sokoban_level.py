"""Sokoban levels and their solutions: rooms carved by a random walk, boxes pulled away from their targets.

A breadth-first search backwards from the solved room makes every level solvable and yields its distance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from engine.environments.base import UNKNOWN, Unknown
from engine.environments.bounded_cache import cached_in_bytes
from engine.errors import ConfigError

Position = tuple[int, int]
Boxes = frozenset[Position]
State = tuple[Position, Boxes]
MOVES: tuple[Position, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))  # Up Down Left Right
MAX_STATES = 20_000
MAX_ROOMS = 20_000
FLOOR_PER_BOX = 4  # inner cells per box, so that levels are found in reasonable time


@dataclass(frozen=True, slots=True)
class Level:
    """A room: its floor, targets, first state, and a shortest solution if one is known."""

    rows: int
    columns: int
    floor: frozenset[Position]
    targets: Boxes
    player: Position
    boxes: Boxes
    solution: tuple[int, ...] | None = field(default=None, compare=False)


def level_problem(rows: int, columns: int, boxes: int, depth: int) -> str:
    """Which parameter makes levels impossible, and why; empty if there are levels."""
    inside = (rows - 2) * (columns - 2)
    if boxes * FLOOR_PER_BOX > inside:
        most = inside // FLOOR_PER_BOX
        return f"boxes: {boxes} do not fit into {rows} x {columns}; use {most} at most, or a larger room."
    least = 2 * (boxes - 1)
    return f"depth: {depth} is too little to move {boxes} boxes; use {least} or more." if depth < least else ""


@cached_in_bytes(16_000_000)
def make_level(seed: int, rows: int, columns: int, boxes: int, depth: int) -> Level:
    """The level of `seed`: draws rooms until one has an unsolved state within `depth` backward moves."""
    rng = np.random.default_rng([seed, rows, columns, boxes, depth])
    for _ in range(MAX_ROOMS):
        level = _draw_level(rng, rows, columns, boxes, depth)
        if level is not None:
            return level
    raise ConfigError(
        f"No Sokoban level of {rows} x {columns} with {boxes} boxes and depth {depth} was found.",
        remedy="Use fewer boxes, a larger room or more depth.",
    )


def _draw_level(rng: np.random.Generator, rows: int, columns: int, boxes: int, depth: int) -> Level | None:
    floor = _carve(rng, rows, columns)
    if len(floor) < 2 * boxes + 3:
        return None
    positions = sorted(floor)
    chosen = [positions[i] for i in rng.permutation(len(positions))[: boxes + 1]]
    targets, player = frozenset(chosen[:boxes]), chosen[boxes]
    distances = _distances_back(floor, targets, player, depth)
    starts = _unsolved_states(distances, targets)
    if not starts:
        return None
    start = starts[int(rng.integers(len(starts)))]
    return Level(rows, columns, floor, targets, *start, solution=_descend(floor, start, distances))


@cached_in_bytes(16_000_000)
def solve(level: Level, player: Position, boxes: Boxes) -> tuple[int, ...] | Literal[Unknown.UNKNOWN] | None:
    """A shortest list of moves that puts every box on a target; None if there is none, `UNKNOWN` if 20,000 states were
    searched without a result. States with a box that can reach no target are not searched."""
    if level.solution is not None and (player, boxes) == (level.player, level.boxes):
        return level.solution
    live = live_floor(level.floor, level.targets)
    if not boxes <= live:
        return None
    queue: deque[tuple[State, tuple[int, ...]]] = deque([((player, boxes), ())])
    seen = {(player, boxes)}
    while queue and len(seen) < MAX_STATES:
        state, path = queue.popleft()
        if state[1] == level.targets:
            return path
        for action, move in enumerate(MOVES):
            next_state = push(level.floor, state, move)
            if next_state is not None and next_state not in seen and next_state[1] <= live:
                seen.add(next_state)
                queue.append((next_state, (*path, action)))
    return UNKNOWN if queue else None


def live_floor(floor: frozenset[Position], targets: Boxes) -> frozenset[Position]:
    """The floor from which a box alone in the room can be pushed onto a target. A box anywhere else, as in a corner, is
    lost. Found by pulling a box away from each target."""
    live = set(targets)
    queue = deque(targets)
    while queue:
        box = queue.popleft()
        for move in MOVES:
            pulled, player = _plus(box, move), _plus(_plus(box, move), move)
            if pulled in floor and player in floor and pulled not in live:
                live.add(pulled)
                queue.append(pulled)
    return frozenset(live)


def push(floor: frozenset[Position], state: State, move: Position) -> State | None:
    """The state after a step in the direction `move`, pushing a box if there is one; None if nothing moves."""
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


def _distances_back(floor: frozenset[Position], targets: Boxes, player: Position, depth: int) -> dict[State, int]:
    """The distance of each state from solved, for states at most `depth` moves back; nearest first."""
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
    """States with every box off its target, at least half as far as the farthest, so that levels are not trivial."""
    found = [(moves, state) for state, moves in distances.items() if not state[1] & targets]
    farthest = max((moves for moves, _ in found), default=0)
    return [state for moves, state in found if 2 * moves >= farthest]


def _descend(floor: frozenset[Position], state: State, distances: dict[State, int]) -> tuple[int, ...]:
    """A shortest solution: in each state the first action that reduces the distance."""
    path: list[int] = []
    while distances[state]:
        nearer = distances[state] - 1
        candidates = ((action, push(floor, state, move)) for action, move in enumerate(MOVES))
        action, state = next((a, s) for a, s in candidates if s is not None and distances.get(s) == nearer)
        path.append(action)
    return tuple(path)


def _around(floor: frozenset[Position], targets: Boxes, player: Position) -> list[Position]:
    """Where the player can be after the last push: next to a target, on free floor."""
    adjacent = {_plus(target, move) for target in targets for move in MOVES}
    return sorted(position for position in adjacent | {player} if position in floor and position not in targets)


def _back(floor: frozenset[Position], state: State) -> Iterator[State]:
    """The states from which one move leads to `state`: a step back, with or without pulling a box."""
    player, boxes = state
    for move in MOVES:
        behind = _plus(player, (-move[0], -move[1]))
        if behind not in floor or behind in boxes:
            continue
        yield behind, boxes
        ahead = _plus(player, move)
        if ahead in boxes:
            yield behind, (boxes - {ahead}) | {player}


def _carve(rng: np.random.Generator, rows: int, columns: int) -> frozenset[Position]:
    """A connected room inside the border: a walk that turns a third of the time and widens as it goes."""
    position = (int(rng.integers(1, rows - 1)), int(rng.integers(1, columns - 1)))
    move = MOVES[int(rng.integers(4))]
    floor: set[Position] = {position}
    for _ in range(int(1.5 * (rows + columns))):
        if rng.random() < 0.35:
            move = MOVES[int(rng.integers(4))]
        ahead = _plus(position, move)
        if not (1 <= ahead[0] < rows - 1 and 1 <= ahead[1] < columns - 1):
            move = MOVES[int(rng.integers(4))]
            continue
        position = ahead
        floor.add(position)
        side = _plus(position, (move[1], move[0]))
        if 1 <= side[0] < rows - 1 and 1 <= side[1] < columns - 1 and rng.random() < 0.5:
            floor.add(side)
    return frozenset(floor)


def _plus(position: Position, move: Position) -> Position:
    return position[0] + move[0], position[1] + move[1]
