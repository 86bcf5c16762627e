"""FrozenLake: gymnasium's rules on a random lake, start and goal anywhere. Reward 1 on the goal, else 0."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from pydantic import Field, model_validator

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Solution, step_info
from engine.environments.bounded_cache import cached_in_bytes
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
    with_symbol,
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
GROUND = {"S": "ice", "F": "ice", "H": "hole", "G": "goal"}
ACTIONS = ["Left", "Down", "Right", "Up"]  # gymnasium's ids 0 to 3
MOVES: tuple[Position, ...] = ((0, -1), (1, 0), (0, 1), (-1, 0))


class FrozenLakeParameters(EnvironmentParameters):
    size: int = Field(4, ge=2, le=12, description="Rows and columns of the lake.")
    frozen_probability: float = Field(
        0.8, gt=0.2, le=1, description="Chance that a tile is ice, not a hole. Lower is harder; a path always exists."
    )
    success_rate: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Chance of moving as intended; else the player slips to a side. 1 never slips, 0 always.",
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
        "FrozenLake one turn, slippery": {"parameters": {"success_rate": 0.34}, "max_turns": 1},
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
        self.ground = ""  # the grid without the player
        self.agent: Position = (0, 0)
        self.over = True
        self._symbols_of_ground = str.maketrans({tile: self.symbols[name] for tile, name in GROUND.items()})
        self._chance: np.random.Generator | None = None
        slip = (1 - config.success_rate) / 2
        self._slips = (slip, slip + config.success_rate, slip + config.success_rate + slip)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the lake; `options["chance_seed"]` (default: the seed) only how it slips."""
        seed = self.seeded(seed)
        self.lake = make_lake(seed, self.config.size, self.config.frozen_probability)
        self.ground = draw(self.lake).translate(self._symbols_of_ground)
        self.agent = divmod("".join(self.lake).index("S"), self.config.size)
        if self.config.success_rate < 1:
            self._chance = chance_of(int((options or {}).get("chance_seed", seed)) % 2**31)
        self.over = False
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        action = self.checked(action, over=self.over)
        before = self.agent
        down, right = MOVES[self._direction(action)]
        moved = before[0] + down, before[1] + right
        self.agent = moved if self._inside(moved) else before
        tile = self._tile(self.agent)
        self.over = tile in "GH"
        info = step_info(effective=self.agent != before, success=tile == "G")
        return self.render(), float(tile == "G"), self.over, False, info

    def _direction(self, action: int) -> int:
        """Where a move goes: as intended, or to one of its sides, drawn as gymnasium draws it."""
        if self._chance is None:
            return action
        drawn = self._chance.random()
        side = next((index for index, bound in enumerate(self._slips) if bound > drawn), 0)
        return (action + side - 1) % len(MOVES)

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
        if not self.lake:
            raise RuntimeError("There is no lake yet; call reset first.")
        row, column = self.agent
        player = {"H": "player_in_hole", "G": "player_on_goal"}.get(self._tile(self.agent), "player")
        grid = with_symbol(self.ground, self.config.size, row, column, self.symbols[player])
        if self.config.format == "grid":
            return grid
        positions = {
            "Player": [self.agent],
            "Goal": self._all("G"),
            "Holes": self._all("H"),
        }
        return compose(self.config.format, grid, list_positions(positions))

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

    def _tile(self, position: Position) -> str:
        return self.lake[position[0]][position[1]]

    def _inside(self, position: Position) -> bool:
        return 0 <= position[0] < self.config.size and 0 <= position[1] < self.config.size

    def _all(self, tile: str) -> list[Position]:
        return [(r, c) for r, row in enumerate(self.lake) for c, found in enumerate(row) if found == tile]


def chance_of(seed: int) -> np.random.Generator:
    """The generator of slips. gymnasium draws the start from it first, of which there is one here."""
    generator, _ = seeding.np_random(seed)
    generator.random()
    return generator


@cached_in_bytes(4_000_000)
def make_lake(seed: int, size: int, frozen_probability: float) -> tuple[str, ...]:
    """Rows of S, F, H and G: start and goal uniform and distinct, drawn until a path connects them."""
    rng = np.random.default_rng([seed, size])
    while True:
        ice = (rng.random(size * size) < frozen_probability).tolist()
        start, goal = rng.choice(size * size, size=2, replace=False).tolist()
        tiles = ["F" if frozen else "H" for frozen in ice]
        tiles[start], tiles[goal] = "S", "G"
        if _connected(tiles, size, start):
            text = "".join(tiles)
            return tuple(text[row : row + size] for row in range(0, size * size, size))


def _connected(tiles: list[str], size: int, start: int) -> bool:
    """Whether a path over ice leads from `start` to the goal; tiles are numbered row by row."""
    frontier, unseen = [start], [tile != "H" for tile in tiles]
    unseen[start] = False
    while frontier:
        tile = frontier.pop()
        if tiles[tile] == "G":
            return True
        column = tile % size
        neighbours = (
            tile - size,
            tile + size if tile + size < size * size else -1,
            tile - 1 if column else -1,
            tile + 1 if column < size - 1 else -1,
        )
        for neighbour in neighbours:
            if neighbour >= 0 and unseen[neighbour]:
                unseen[neighbour] = False
                frontier.append(neighbour)
    return False
