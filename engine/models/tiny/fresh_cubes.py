"""Cubes for imitation: many positions, one turn of each.

An episode of the usual environment passes through positions that may be held out. Here each turn is followed by another
scrambled cube of training, so the model never sees how to turn a held-out one. All are held with the same corner in
place, and only the three faces without it are turned, which leaves it there.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, Final

import numpy as np

from engine.environments.base import UNKNOWN, Info, Solution, step_info
from engine.environments.pocket_cube import (
    CORNERS,
    GENERATORS,
    SOLVED,
    TURNS,
    distances,
    position_index,
    positions_at,
    stickers_at,
    turn,
)
from engine.environments.problems import problem_id, split_of_problem
from engine.environments.rubiks_cube import COLOURS, CORNER_NAMES, RubiksCube

# share of the cubes at each distance from solved
SHARES: Final = {1: 0.03, 2: 0.06, 3: 0.12, 4: 0.20, 5: 0.27, 6: 0.20, 7: 0.12}


class FreshCubes(RubiksCube):
    """A new cube at each turn. Success is that the last turn brought its cube nearer to solved. Random actions are
    those of the scripted player: turns that leave one corner in place."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed, options=options)
        self._chance = np.random.default_rng([self.seeded(seed), 31])
        self._draw()
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        action = self.checked(action, over=self.over)
        distance = self.distance
        nearer = TURNS[action] in self.nearer
        self.steps += 1
        self.over = self.steps >= self.config.max_steps
        self._draw()
        info = step_info(effective=True, success=nearer, distance=distance - 1 if nearer else distance + 1)
        return self.render(), float(nearer), False, self.over, info

    def solution(self) -> Solution:
        return UNKNOWN

    def scripted_action(self, rng: np.random.Generator) -> str:
        return self.nearer[int(rng.integers(len(self.nearer)))]

    def random_action(self, rng: np.random.Generator) -> str:
        return GENERATORS[int(rng.integers(len(GENERATORS)))]

    def _draw(self) -> None:
        """Another cube of training, and the turns that bring it nearer to solved."""
        while True:
            self.distance = int(self._chance.choice(list(SHARES), p=list(SHARES.values())))
            positions = _positions_at(self.distance)
            self.stickers = stickers_at(int(positions[int(self._chance.integers(len(positions)))]))
            if split_of_problem(problem_id(self)) == "train":
                break
        ahead = {name: int(distances()[position_index(turn(self.stickers, name))]) for name in GENERATORS}
        self.nearer = [name for name, distance in ahead.items() if distance < self.distance]


@lru_cache(maxsize=len(SHARES))
def _positions_at(distance: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return positions_at(distance)


def _colours(corner: int, twist: int) -> str:
    indices = CORNERS[corner]
    return " ".join(COLOURS[SOLVED[indices[(offset - twist) % 3]]] for offset in range(3))


# A line with its end for each corner and piece in it, twisted in three ways; turns, and with the space before them.
CORNER_LINES: Final = tuple(
    f"{name}: {_colours(piece, twist)}\n" for name, piece, twist in product(CORNER_NAMES, range(8), range(3))
)
TURN_WORDS: Final = tuple(f"{before}{name}" for before, name in product(("", " "), TURNS) if name.endswith("'"))
