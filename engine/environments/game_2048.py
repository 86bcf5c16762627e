"""2048: slide tiles so that equal ones merge, until one reaches the target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import gymnasium
import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import (
    UNKNOWN,
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Reduction,
    Solution,
    step_info,
)
from engine.environments.board_2048 import (
    ACTIONS,
    Board,
    Row,
    best_move,
    empty_cells,
    largest_tile,
    legal_moves,
    move,
    with_tile,
)
from engine.environments.drawing_format import LEVELS
from engine.environments.spaces import discrete

CHARSET = frozenset("0123456789_ \n:,abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Game2048Parameters(EnvironmentParameters):
    size: int = Field(4, ge=2, le=8, description="Rows and columns of the board. Fewer are harder.")
    target: int = Field(
        256,
        ge=8,
        le=131_072,
        description="Tile that counts as success, a power of 2. Reaching it takes about target / 2.2 moves, so about "
        "930 for 2048.",
    )
    two_probability: float = Field(0.9, ge=0, le=1, description="Chance that a new tile is a 2; else it is a 4.")
    log_reward: bool = Field(
        True, description="A move that merges earns 0.1 log2(sum of its merged tiles + 1). Off: the sum itself."
    )
    unchanged_reward: float = Field(
        0.0, ge=-10, le=0, description="Reward of a move that changes nothing. RAGEN gives -0.1 without log_reward."
    )
    stop_at_target: bool = Field(
        True, description="Reaching the target ends the episode. Off: only a board without a move ends it."
    )
    list_moves: bool = Field(True, description="The observation lists the moves that change the board.")

    @model_validator(mode="after")
    def _check(self) -> Game2048Parameters:
        if self.target & (self.target - 1):
            below = 1 << (self.target.bit_length() - 1)
            raise ValueError(f"target: {self.target} is not a power of 2; use {below} or {2 * below}.")
        most = 2 ** (self.size**2 + 1)
        if self.target > most:
            raise ValueError(f"target: no tile of a {self.size} x {self.size} board exceeds {most}; use that at most.")
        return self


class Game2048(Environment):
    """Merge equal tiles until one reaches the target.

    Description: numbered tiles on a square board. A move slides all tiles to one side; two equal tiles that meet merge
        into their sum, each tile once per move, pairs nearest that side first. After a move that changed the board, a
        new tile appears in an empty cell.
    Actions: Up, Right, Down, Left. A move that changes nothing is valid and not effective; no tile appears.
    Observations: the rows, `_` for empty cells, and with `list_moves` the moves that change the board.
    Starting state: two new tiles, by the seed. Later ones are chance: 2 with `two_probability`, else 4, in a cell drawn
        uniformly.
    Rewards: 0.1 log2(m + 1) for a move whose merged tiles sum to m, 0 if none merge; without `log_reward` m itself.
        `unchanged_reward` for a move that changes nothing.
    Episode end: terminated when no move changes the board, or, with `stop_at_target`, at the target. Success is having
        a tile of the target or larger.
    Arguments: `Game2048Parameters`.
    Differences from RAGEN: tiles appear by the chance seed, so members of a group share the first board only. RAGEN
        judges success at the end, for 2048, which its 700 actions are too few for. The score and the largest tile are
        metrics instead of text. A move that changes nothing is valid here, as its name is known.
    """

    kind: ClassVar[str] = "game_2048"
    title: ClassVar[str] = "2048"
    summary: ClassVar[str] = "Slide numbered tiles so that equal ones merge, until one reaches the target."
    Config = Game2048Parameters
    default_instruction: ClassVar[str] = "Slide the tiles so that equal ones merge. Keep large tiles in a corner."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 200,
        "max_actions_per_turn": 1,
        "max_actions": 200,
        "max_response_tokens": 40,
    }
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"score": "last", "max_tile": "max"}
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "2048": {},
        "game_2048": {"parameters": {"target": 1024}, "max_turns": 800, "max_actions": 700},
        "2048 2x2 to 16": {"parameters": {"size": 2, "target": 16}, "max_turns": 20, "max_actions": 20},
        "2048 3x3 to 32": {"parameters": {"size": 3, "target": 32}, "max_turns": 30, "max_actions": 30},
        "2048 5x5": {"parameters": {"size": 5, "target": 512}, "max_turns": 400, "max_actions": 400},
    }
    config: Game2048Parameters

    def __init__(self, config: Game2048Parameters) -> None:
        super().__init__(config)
        self.action_space = discrete(len(ACTIONS))
        self.observation_space = gymnasium.spaces.Text(min_length=1, max_length=1000, charset=CHARSET)
        self.board: Board = ((0,) * config.size,) * config.size
        self.new_cell: tuple[int, int] | None = None
        self.score = 0
        self.over = True
        self._rng = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the first two tiles; `options["chance_seed"]` only the later ones."""
        seed = self.seeded(seed)
        problem = np.random.default_rng([seed, self.config.size, 8])
        self.board = ((0,) * self.config.size,) * self.config.size
        for _ in range(2):
            self._add_tile(problem)
        self._rng = np.random.default_rng([int((options or {}).get("chance_seed", seed)), 9])
        self.new_cell, self.score, self.over = None, 0, False
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        action = self.checked(action, over=self.over)
        moved, gained = move(self.board, action)
        changed = moved != self.board
        if changed:
            self.board = moved
            self.score += gained
            self._add_tile(self._rng)
        largest = largest_tile(self.board)
        success = largest >= self.config.target
        self.over = (success and self.config.stop_at_target) or not legal_moves(self.board)
        info = step_info(effective=changed, success=success, score=self.score, max_tile=largest)
        return self.render(), self._reward(gained, changed=changed), self.over, False, info

    def action_names(self) -> list[str]:
        return list(ACTIONS)

    def describe(self) -> str:
        return (
            "_ is an empty cell. Equal tiles that meet merge into their sum. "
            f"The goal is a tile of {self.config.target}.\n"
            f"Actions: {', '.join(ACTIONS)}."
        )

    def render(self) -> str:
        lines = [*map(_row_text, self.board)]
        if self.config.list_moves:
            lines.append(f"Moves: {', '.join(ACTIONS[action] for action in legal_moves(self.board)) or 'none'}")
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        drawing: Drawing = {
            "type": "table",
            "columns": [],
            "rows": [[str(tile) if tile else "" for tile in row] for row in self.board],
            "caption": f"Score {self.score}",
        }
        marks = [
            [r, c, "good" if tile >= self.config.target else LEVELS[min(tile.bit_length() - 2, len(LEVELS) - 1)]]
            for r, row in enumerate(self.board)
            for c, tile in enumerate(row)
            if tile
        ]
        if self.new_cell is not None and [*self.new_cell, "good"] not in marks:
            marks.append([*self.new_cell, "new"])
        return {**drawing, "marks": marks}

    def problem(self) -> str:
        """The first board."""
        return "\n".join(map(_row_text, self.board))

    def solution(self) -> Solution:
        """Chance decides, so none is known; a finished episode needs no more moves, or has none."""
        if not self.over:
            return UNKNOWN
        return [] if self._success else None

    def scripted_action(self, rng: np.random.Generator) -> str:
        """The move with the best expected board after a new tile and one more move."""
        best = best_move(self.board)
        return ACTIONS[best] if best is not None else self.random_action(rng)

    @property
    def _success(self) -> bool:
        return largest_tile(self.board) >= self.config.target

    def _add_tile(self, rng: np.random.Generator) -> None:
        cells = empty_cells(self.board)
        self.new_cell = cells[int(rng.integers(len(cells)))]
        tile = 2 if rng.random() < self.config.two_probability else 4
        self.board = with_tile(self.board, self.new_cell, tile)

    def _reward(self, gained: int, *, changed: bool) -> float:
        if not changed:
            return self.config.unchanged_reward
        return 0.1 * math.log2(gained + 1) if self.config.log_reward else float(gained)


@lru_cache(maxsize=16384)  # 16384 rows of about 300 bytes; a 4x4 game meets a few thousand
def _row_text(row: Row) -> str:
    return " ".join(str(tile) if tile else "_" for tile in row)
