"""Rubik's cube of 2x2x2, the pocket cube, in quarter turns. Reward 1 when solved, else 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Reduction, Solution, step_info
from engine.environments.pocket_cube import (
    CORNERS,
    FACES,
    FARTHEST,
    SOLVED,
    TURNS,
    Stickers,
    distances,
    is_solved,
    position_index,
    positions_at,
    shortest_solution,
    stickers_at,
    turn,
)
from engine.environments.spaces import discrete

NAMES = {"W": "white", "O": "orange", "G": "green", "R": "red", "B": "blue", "Y": "yellow"}
COLOURS = "WOGRBY"  # white up, orange left, green front, red right, blue back, yellow down
CHARSET = frozenset(COLOURS + FACES + ": \n")
NET = (("", "U", "", ""), ("L", "F", "R", "B"), ("", "D", "", ""))
CORNER_NAMES = tuple("".join(FACES[index // 4] for index in indices) for indices in CORNERS)  # such as URF


class RubiksCubeParameters(EnvironmentParameters):
    depth: int = Field(3, ge=1, le=100, description="Quarter turns of the scramble. No position needs more than 14.")
    scramble: Literal["exact", "random"] = Field(
        "exact",
        description="exact: a position that needs `depth` turns, all equally likely. random: `depth` random turns, "
        "some of which may undo others.",
    )
    format: Literal["faces", "corners"] = Field(
        "faces",
        description="faces: a line per face with its four colours. corners: a line per corner with its three, which "
        "shows the pieces that turns move, and takes less to read.",
    )
    max_steps: int = Field(20, ge=1, le=10_000, description="Turns after which the episode ends unsolved.")
    distance_reward: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Added for each turn that shortens the shortest solution, subtracted for each that lengthens it.",
    )

    @model_validator(mode="after")
    def _check(self) -> RubiksCubeParameters:
        if self.scramble == "exact" and self.depth > FARTHEST:
            raise ValueError(
                f"depth: no position needs {self.depth} turns; use {FARTHEST} at most, or scramble random."
            )
        return self


class RubiksCube(Environment):
    """Solve a scrambled 2x2x2 cube.

    Description: a cube of eight corners. It is solved when each face has one colour, whatever way the cube is held.
    Actions: the twelve quarter turns U U' D D' L L' R R' F F' B B'; ' is counter-clockwise. Half turns are two.
    Observations: `format` faces: a line per face, up, left, front, right, back and down, with its four colours in
        reading order. Up is read with the front below it, down with the front above it. corners: a line per corner,
        named by its faces clockwise from the one up or down, with its colours on these faces.
    Starting state: exact: drawn uniformly from the positions that take `depth` turns, held so that the corner of
        orange, blue and yellow is in its solved position. random: `depth` uniform turns of the solved cube, drawn
        again if they leave it solved.
    Rewards: 1 when solved, else 0. `distance_reward` is added per turn nearer and subtracted per turn farther.
    Episode end: terminated when solved, truncated after `max_steps`.
    Arguments: `RubiksCubeParameters`. The distance is exact, from a search over all 3,674,160 positions, which takes
        under a second once per process. The farthest are 14 turns away.
    Differences from RAGEN: scrambles are of an exact distance by default; RAGEN's random ones can be solved already.
        The step counter is not part of the observation, and corners are a format of ours.
    """

    kind: ClassVar[str] = "rubiks_cube"
    title: ClassVar[str] = "Rubik's cube 2x2"
    summary: ClassVar[str] = "Solve a scrambled 2x2x2 cube by turning its faces."
    Config = RubiksCubeParameters
    default_instruction: ClassVar[str] = "Turn the faces of the cube until each has one colour."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 10,
        "max_actions_per_turn": 2,
        "max_actions": 20,
        "max_response_tokens": 40,
    }
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"distance": "last"}
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Rubik's cube": {},
        "rubikscube": {
            "parameters": {"depth": 1, "scramble": "random"},
            "max_turns": 25,
            "max_actions_per_turn": 4,
            "max_actions": 20,
        },
        "Rubik's cube two turns": {"parameters": {"depth": 2}, "max_turns": 4, "max_actions": 8},
        "Rubik's cube five turns": {
            "parameters": {"depth": 5, "format": "corners"},
            "max_turns": 10,
            "max_actions_per_turn": 1,
            "max_actions": 10,
        },
        "Rubik's cube six turns": {"parameters": {"depth": 6, "distance_reward": 0.1}},
    }
    config: RubiksCubeParameters

    def __init__(self, config: RubiksCubeParameters) -> None:
        super().__init__(config)
        self.action_space = discrete(len(TURNS))
        self.observation_space = gymnasium.spaces.Text(min_length=1, max_length=100, charset=CHARSET)
        self.stickers: Stickers = SOLVED
        self.distance = 0  # quarter turns from solved
        self.steps = 0
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the position. The cube is deterministic."""
        seed = self.seeded(seed)
        rng = np.random.default_rng([seed, self.config.depth, 7])
        self.stickers = self._exact(rng) if self.config.scramble == "exact" else self._random(rng)
        self.distance, self.steps, self.over = _distance(self.stickers), 0, False
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        action = self.checked(action, over=self.over)
        self.stickers = turn(self.stickers, TURNS[action])
        self.steps += 1
        solved = is_solved(self.stickers)
        truncated = not solved and self.steps >= self.config.max_steps
        self.over = solved or truncated
        before, self.distance = self.distance, _distance(self.stickers)
        reward = solved + self.config.distance_reward * (before - self.distance)
        info = step_info(effective=True, success=solved, distance=self.distance)
        return self.render(), float(reward), solved, truncated, info

    def action_names(self) -> list[str]:
        return list(TURNS)

    def describe(self) -> str:
        corners = (
            "" if self.config.format == "faces" else " Each line is a corner, with its colours on its three faces."
        )
        each = "" if corners else ", each with its four colours"
        return (
            f"Faces: U up, L left, F front, R right, B back, D down{each}.{corners}\n"
            f"Actions: {', '.join(TURNS)}. Each turns its face a quarter clockwise, with ' counter-clockwise."
        )

    def render(self) -> str:
        if self.config.format == "corners":
            return "\n".join(
                f"{name}: {' '.join(COLOURS[self.stickers[index]] for index in indices)}"
                for name, indices in zip(CORNER_NAMES, CORNERS, strict=True)
            )
        return "\n".join(f"{face}: {' '.join(self._colours(face))}" for face in FACES)

    def drawing(self) -> Drawing:
        """The cube unfolded: up above the front, down below it."""
        rows: list[list[str]] = []
        for faces in NET:
            for row in (0, 2):
                rows.append([cell for face in faces for cell in self._cells(face)[row : row + 2]])
        marks = [
            [row, column, NAMES[letter]]
            for row, cells in enumerate(rows)
            for column, letter in enumerate(cells)
            if letter
        ]
        return {"type": "table", "columns": [], "rows": rows, "boxes": [2, 2], "marks": marks}

    def problem(self) -> str:
        """The number of the position, which is the same for all ways to hold the cube."""
        return str(position_index(self.stickers))

    def solution(self) -> Solution:
        return list(shortest_solution(self.stickers))

    def _exact(self, rng: np.random.Generator) -> Stickers:
        positions = positions_at(self.config.depth)
        return stickers_at(int(positions[int(rng.integers(len(positions)))]))

    def _random(self, rng: np.random.Generator) -> Stickers:
        stickers = SOLVED
        while is_solved(stickers):
            for action in rng.integers(len(TURNS), size=self.config.depth):
                stickers = turn(stickers, TURNS[int(action)])
        return stickers

    def _cells(self, face: str) -> list[str]:
        return self._colours(face) if face else [""] * 4

    def _colours(self, face: str) -> list[str]:
        first = 4 * FACES.index(face)
        return [COLOURS[colour] for colour in self.stickers[first : first + 4]]


def _distance(stickers: Stickers) -> int:
    return int(distances()[position_index(stickers)])
