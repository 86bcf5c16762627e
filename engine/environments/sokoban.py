"""Sokoban: push boxes onto targets. -0.1 a move, +1 for a box onto a target, -1 off one, +10 when solved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
from pydantic import Field, model_validator

from engine.environments.base import UNKNOWN, Drawing, Environment, EnvironmentParameters, Info, Solution, step_info
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
from engine.environments.sokoban_level import MOVES, Level, level_problem, make_level, push, solve
from engine.environments.spaces import discrete

SYMBOLS = {
    "wall": "#",
    "floor": "_",
    "target": "O",
    "box_on_target": "√",
    "box": "X",
    "player": "P",
    "player_on_target": "S",
}
WORDS = {
    "wall": "wall",
    "floor": "floor",
    "target": "target",
    "box_on_target": "box on target",
    "box": "box",
    "player": "player",
    "player_on_target": "player on target",
}
ACTIONS = ["Up", "Down", "Left", "Right"]
MOVE_REWARD, BOX_REWARD, SOLVED_REWARD = -0.1, 1.0, 10.0


class SokobanParameters(EnvironmentParameters):
    rows: int = Field(6, ge=5, le=12, description="Height of the room, walls included.")
    columns: int = Field(6, ge=5, le=12, description="Width of the room, walls included.")
    boxes: int = Field(1, ge=1, le=4, description="Boxes and targets. Each additional one makes it much harder.")
    depth: int = Field(
        10, ge=1, le=60, description="Moves played backwards from the solved room: a solution is never longer."
    )
    max_steps: int = Field(100, ge=1, le=10_000, description="Moves after which the episode ends unsolved.")
    format: GridFormat = Field("grid", description="How the room is written: symbols, coordinates, or both.")
    symbols: dict[str, str] = Field(
        default_factory=dict,
        description="Other characters for wall, floor, target, box_on_target, box, player, player_on_target.",
    )

    @model_validator(mode="after")
    def _check(self) -> SokobanParameters:
        resolve_symbols(SYMBOLS, self.symbols)
        problem = level_problem(self.rows, self.columns, self.boxes, self.depth)
        if problem:
            raise ValueError(problem)
        return self


class Sokoban(Environment):
    """Push every box onto a target.

    Description: a room with walls, boxes and as many targets. Boxes are pushed one at a time and cannot be pulled.
    Actions: Up, Down, Left, Right. A move into a wall, or into a box that cannot move, changes nothing.
    Observations: the room as symbols, as coordinates, or both. Coordinates are (row, column) from (0, 0), with those of
        walls inside the room.
    Starting state: a room carved by a random walk, and a position up to `depth` backward moves from solved in which no
        box is on a target, at least half as far as the farthest found.
    Rewards: -0.1 per move, +1 for a box that enters a target, -1 for one that leaves it, +10 when solved. One box
        solved in n moves returns 11 - 0.1 n.
    Episode end: terminated when solved, truncated after `max_steps`.
    Arguments: `SokobanParameters`.
    Differences from RAGEN: levels are searched backwards breadth first, so that the length of the shortest solution is
        known and at most `depth`; RAGEN searches depth first and bounds no length. Coordinates include inner walls,
        without which a room cannot be solved by its text. There are no images.
    """

    kind: ClassVar[str] = "sokoban"
    title: ClassVar[str] = "Sokoban"
    summary: ClassVar[str] = "Push every box onto a target; boxes cannot be pulled, and corners are traps."
    Config = SokobanParameters
    default_instruction: ClassVar[str] = "Push every box onto a target. You cannot pull."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 5,
        "max_actions_per_turn": 2,
        "max_actions": 10,
        "max_response_tokens": 40,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Sokoban": {},
        "SimpleSokoban": {"parameters": {"rows": 6, "columns": 6, "boxes": 1}},
        "LargerSokoban": {"parameters": {"rows": 8, "columns": 8, "boxes": 2, "depth": 10}},
        "SokobanDifferentGridVocab": {
            "parameters": {
                "symbols": {
                    "wall": "W",
                    "floor": ".",
                    "target": "G",
                    "box_on_target": "C",
                    "box": "B",
                    "player": "A",
                    "player_on_target": "@",
                }
            }
        },
        "CoordSokoban": {"parameters": {"format": "coordinates"}},
        "Sokoban two boxes": {
            "parameters": {"rows": 7, "columns": 7, "boxes": 2, "depth": 16},
            "max_turns": 10,
            "max_actions": 20,
        },
        "Sokoban 10x10": {
            "parameters": {"rows": 10, "columns": 10, "boxes": 3, "depth": 30},
            "max_turns": 15,
            "max_actions_per_turn": 3,
            "max_actions": 40,
        },
    }
    config: SokobanParameters

    def __init__(self, config: SokobanParameters) -> None:
        super().__init__(config)
        self.symbols = resolve_symbols(SYMBOLS, config.symbols)
        self.action_space = discrete(len(ACTIONS))
        self.observation_space = gymnasium.spaces.Text(min_length=1, max_length=4000, charset=CHARSET)
        self.level: Level | None = None
        self.ground = ""
        self.player: Position = (0, 0)
        self.boxes: frozenset[Position] = frozenset()
        self.plan: tuple[int, ...] | None = None  # the remaining part of a known shortest solution
        self.steps = 0
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the level. Sokoban is deterministic."""
        seed = self.seeded(seed)
        config = self.config
        self.level = make_level(seed, config.rows, config.columns, config.boxes, config.depth)
        self.ground = self._ground(self.level)
        self.player, self.boxes = self.level.player, self.level.boxes
        self.plan = self.level.solution
        self.steps, self.over = 0, False
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        action = self.checked(action, over=self.over)
        level = self._level
        self.plan = self.plan[1:] if self.plan and self.plan[0] == action else None
        moved = push(level.floor, (self.player, self.boxes), MOVES[action])
        before = len(self.boxes & level.targets)
        if moved is not None:
            self.player, self.boxes = moved
        self.steps += 1
        solved = self.boxes == level.targets
        reward = MOVE_REWARD + BOX_REWARD * (len(self.boxes & level.targets) - before) + SOLVED_REWARD * solved
        truncated = not solved and self.steps >= self.config.max_steps
        self.over = solved or truncated
        info = step_info(effective=moved is not None, success=solved)
        return self.render(), float(reward), solved, truncated, info

    def action_names(self) -> list[str]:
        return list(ACTIONS)

    def describe(self) -> str:
        lines = [legend(self.symbols, WORDS)] if self.config.format != "coordinates" else []
        lines += [coordinate_note(self.config.format, self.config.rows, self.config.columns)]
        return "\n".join(line for line in [*lines, f"Actions: {', '.join(ACTIONS)}."] if line)

    def render(self) -> str:
        grid = self._grid()
        return (
            grid
            if self.config.format == "grid"
            else compose(self.config.format, grid, list_positions(self._positions()))
        )

    def drawing(self) -> Drawing:
        level = self._level
        cells = [[self._cell((r, c)) for c in range(self.config.columns)] for r in range(self.config.rows)]
        return {
            "type": "grid",
            "rows": self.config.rows,
            "columns": self.config.columns,
            "cells": cells,
            "agent": list(self.player),
            "agent_state": "on_target" if self.player in level.targets else "ok",
        }

    def problem(self) -> str:
        """The room in the default symbols, whatever its format."""
        names = ((self._name((r, c)) for c in range(self.config.columns)) for r in range(self.config.rows))
        return "\n".join("".join(SYMBOLS[name] for name in row) for row in names)

    def solution(self) -> Solution:
        """The remaining part of a shortest solution is itself shortest; after any other move the search starts
        again."""
        if self.plan is None:
            found = solve(self._level, self.player, self.boxes)
            if found is None or found is UNKNOWN:
                return found
            self.plan = found
        return list(self.plan)

    @property
    def _level(self) -> Level:
        if self.level is None:
            raise RuntimeError("There is no level yet; call reset first.")
        return self.level

    def _grid(self) -> str:
        level, columns = self._level, self.config.columns
        grid = list(self.ground)
        for row, column in self.boxes:
            on_target = (row, column) in level.targets
            grid[2 * (row * columns + column)] = self.symbols["box_on_target" if on_target else "box"]
        row, column = self.player
        player = "player_on_target" if self.player in level.targets else "player"
        grid[2 * (row * columns + column)] = self.symbols[player]
        return "".join(grid)

    def _ground(self, level: Level) -> str:
        """The room without boxes and player; each cell is one character with one after it."""

        def name(position: Position) -> str:
            return "wall" if position not in level.floor else "target" if position in level.targets else "floor"

        rows, columns = range(self.config.rows), range(self.config.columns)
        return draw([[self.symbols[name((row, column))] for column in columns] for row in rows])

    def _name(self, position: Position) -> str:
        if position == self.player:
            return "player_on_target" if position in self._level.targets else "player"
        return self._cell(position)

    def _cell(self, position: Position) -> str:
        level = self._level
        if position not in level.floor:
            return "wall"
        if position in self.boxes:
            return "box_on_target" if position in level.targets else "box"
        return "target" if position in level.targets else "floor"

    def _positions(self) -> dict[str, list[Position]]:
        """Coordinates of everything but floor, including inner walls, which nothing else in the text shows."""
        level = self._level
        inside = [(r, c) for r in range(1, self.config.rows - 1) for c in range(1, self.config.columns - 1)]
        return {
            "Player": [self.player],
            "Boxes": sorted(self.boxes - level.targets),
            "Boxes on target": sorted(self.boxes & level.targets),
            "Targets": sorted(level.targets - self.boxes),
            "Inner walls": [position for position in inside if position not in level.floor],
        }
