"""FrozenLake: gymnasium's rules on a random lake, start and goal anywhere. Reward 1 on the goal, else 0."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from pydantic import Field, model_validator

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Solution, step_info
from engine.environments.bounded_cache import cached_in_bytes, size_in_bytes
from engine.environments.grid_text import (
    CHARSET,
    GridFormat,
    Position,
    compose,
    coordinate_note,
    draw,
    legend,
    list_positions,
    resolve_symbols,
)
from engine.environments.spaces import discrete

SYMBOLS = {"player": "P", "ice": "_", "hole": "O", "goal": "G", "player_in_hole": "X", "player_on_goal": "√"}
WORDS = {
    "player": "player",
    "ice": "ice",
    "hole": "hole",
    "goal": "goal",
    "player_in_hole": "player in hole",
    "player_on_goal": "player on goal",
}
ACTIONS = ["Left", "Down", "Right", "Up"]  # gymnasium's ids 0 to 3
MOVES: tuple[Position, ...] = ((0, -1), (1, 0), (0, 1), (-1, 0))


class FrozenLakeParameters(EnvironmentParameters):
    size: int = Field(4, ge=2, le=12, description="Rows and columns of the lake.")
    frozen_probability: float = Field(
        0.8, gt=0.2, le=1, description="Chance that a tile is ice and no hole. Lower is harder; a path always exists."
    )
    success_rate: float = Field(
        1.0, gt=0, le=1, description="Chance of moving as intended; else it slips to a side. 1 never slips."
    )
    format: GridFormat = Field("grid", description="How the lake is written: symbols, coordinates, or both.")
    symbols: dict[str, str] = Field(
        default_factory=dict,
        description="Other characters for player, ice, hole, goal, player_in_hole, player_on_goal.",
    )

    @model_validator(mode="after")
    def _check_symbols(self) -> FrozenLakeParameters:
        resolve_symbols(SYMBOLS, self.symbols)
        return self


class FrozenLake(Environment):
    """Cross a frozen lake to the goal.

    Description: a square lake of ice and holes. The dynamics are those of gymnasium's FrozenLake.
    Actions: Left, Down, Right, Up. A move into the border changes nothing. With `success_rate` below 1 a move goes as
        intended with that chance, and else, equally likely, to one of its two sides.
    Observations: the lake as symbols, as coordinates, or both. Coordinates are (row, column) from (0, 0).
    Starting state: each tile is ice with `frozen_probability`, start and goal are two different tiles drawn uniformly;
        drawn again until a path connects them. Slips are chance.
    Rewards: 1 on reaching the goal, else 0.
    Episode end: terminated on the goal or in a hole.
    Arguments: `FrozenLakeParameters`.
    Differences from RAGEN: members of a group slip differently, where RAGEN's slip in the same way; by default the ice
        does not slip and 80% of tiles are ice instead of 90%. RAGEN's note on coordinates states a 6x6 range for its
        4x4 lake; here it follows the size.
    """

    kind: ClassVar[str] = "frozen_lake"
    title: ClassVar[str] = "FrozenLake"
    summary: ClassVar[str] = "Cross a frozen lake to the goal without falling into a hole; the ice may be slippery."
    Config = FrozenLakeParameters
    default_instruction: ClassVar[str] = "Walk to the goal and avoid the holes."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 5,
        "max_actions_per_turn": 2,
        "max_actions": 10,
        "max_response_tokens": 40,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "FrozenLake": {},
        "FrozenLake slippery": {"parameters": {"success_rate": 0.8}},
        "FrozenLake coordinates": {"parameters": {"format": "coordinates"}},
        "CoordFrozenLake": {
            "parameters": {"format": "coordinates", "frozen_probability": 0.9, "success_rate": 0.8},
        },
        "FrozenLake 6x6": {"parameters": {"size": 6}, "max_turns": 8, "max_actions": 16},
    }
    config: FrozenLakeParameters

    def __init__(self, config: FrozenLakeParameters) -> None:
        super().__init__(config)
        self.symbols = resolve_symbols(SYMBOLS, config.symbols)
        self.action_space = discrete(len(ACTIONS))
        self.observation_space = gymnasium.spaces.Text(min_length=1, max_length=4000, charset=CHARSET)
        self.lake: tuple[str, ...] = ()
        self.game: FrozenLakeEnv | None = None
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the lake; `options["chance_seed"]` (default: the seed) only how it slips."""
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        self.lake = make_lake(seed, self.config.size, self.config.frozen_probability)
        self.game = copy(_game(self.lake, self.config.success_rate))
        self.game.reset(seed=int((options or {}).get("chance_seed", seed)) % 2**31)
        self.over = False
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        action = self.checked(action, over=self.over)
        before = self.agent
        game: Any = self._playing  # gymnasium leaves its step untyped
        _, reward, terminated, _, _ = game.step(action)
        self.over = terminated
        info = step_info(effective=self.agent != before, success=self._tile(self.agent) == "G")
        return self.render(), float(reward), terminated, False, info

    @property
    def agent(self) -> Position:
        row, column = divmod(int(self._playing.s), self.config.size)
        return row, column

    @property
    def _playing(self) -> FrozenLakeEnv:
        if self.game is None:
            raise RuntimeError("There is no lake yet; call reset first.")
        return self.game

    def action_names(self) -> list[str]:
        return list(ACTIONS)

    def describe(self) -> str:
        lines = [legend(self.symbols, WORDS)] if self.config.format != "coordinates" else []
        lines += [coordinate_note(self.config.format, self.config.size, self.config.size)]
        rate = 100 * self.config.success_rate
        if rate < 100:
            lines += [f"The ice is slippery: a move goes as intended {rate:.10g}% of the time."]
        return "\n".join(line for line in [*lines, f"Actions: {', '.join(ACTIONS)}."] if line)

    def render(self) -> str:
        rows = [[self._symbol((r, c)) for c in range(self.config.size)] for r in range(self.config.size)]
        positions = {
            "Player": [self.agent],
            "Goal": self._all("G"),
            "Holes": self._all("H"),
        }
        return compose(self.config.format, draw(rows), list_positions(positions))

    def drawing(self) -> Drawing:
        names = {"S": "floor", "F": "floor", "H": "hole", "G": "goal"}
        state = {"H": "in_hole", "G": "on_goal"}.get(self._tile(self.agent), "ok")
        return {
            "type": "grid",
            "rows": self.config.size,
            "columns": self.config.size,
            "cells": [[names[tile] for tile in row] for row in self.lake],
            "agent": list(self.agent),
            "agent_state": state,
        }

    def problem(self) -> str:
        return "\n".join(self.lake)

    def solution(self) -> Solution:
        """Breadth-first search over ice from the player's position."""
        start = self.agent
        queue: deque[tuple[Position, list[int]]] = deque([(start, [])])
        seen = {start}
        if self._tile(start) == "H":
            return None
        while queue:
            position, path = queue.popleft()
            if self._tile(position) == "G":
                return path
            for action, (down, right) in enumerate(MOVES):
                neighbour = (position[0] + down, position[1] + right)
                if neighbour not in seen and self._inside(neighbour) and self._tile(neighbour) != "H":
                    seen.add(neighbour)
                    queue.append((neighbour, [*path, action]))
        return None

    def _symbol(self, position: Position) -> str:
        tile = self._tile(position)
        if position == self.agent:
            return self.symbols[{"H": "player_in_hole", "G": "player_on_goal"}.get(tile, "player")]
        return self.symbols[{"H": "hole", "G": "goal"}.get(tile, "ice")]

    def _tile(self, position: Position) -> str:
        return self.lake[position[0]][position[1]]

    def _inside(self, position: Position) -> bool:
        return 0 <= position[0] < self.config.size and 0 <= position[1] < self.config.size

    def _all(self, tile: str) -> list[Position]:
        return [(r, c) for r, row in enumerate(self.lake) for c, found in enumerate(row) if found == tile]


@cached_in_bytes(16_000_000, size_of=lambda game: size_in_bytes(game.P))
def _game(lake: tuple[str, ...], success_rate: float) -> FrozenLakeEnv:
    """A game to copy. Its transition table is expensive to build and never changes, so copies share it."""
    return FrozenLakeEnv(desc=list(lake), is_slippery=success_rate < 1, success_rate=success_rate)


@cached_in_bytes(4_000_000)
def make_lake(seed: int, size: int, frozen_probability: float) -> tuple[str, ...]:
    """Rows of S, F, H and G: start and goal uniform and distinct, drawn until a path connects them."""
    rng = np.random.default_rng([seed, size])
    while True:
        ice = rng.random((size, size)) < frozen_probability
        start, goal = (divmod(int(tile), size) for tile in rng.choice(size * size, size=2, replace=False))
        tiles = [["F" if frozen else "H" for frozen in row] for row in ice]
        tiles[start[0]][start[1]], tiles[goal[0]][goal[1]] = "S", "G"
        if _connected(tiles, start):
            return tuple("".join(row) for row in tiles)


def _connected(tiles: list[list[str]], start: Position) -> bool:
    frontier, seen = [start], {start}
    while frontier:
        row, column = frontier.pop()
        if tiles[row][column] == "G":
            return True
        for down, right in MOVES:
            position = (row + down, column + right)
            inside = 0 <= position[0] < len(tiles) and 0 <= position[1] < len(tiles)
            if inside and position not in seen and tiles[position[0]][position[1]] != "H":
                seen.add(position)
                frontier.append(position)
    return False
