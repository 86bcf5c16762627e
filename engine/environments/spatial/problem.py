"""Draws a world together with a question that it has."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from engine.environments.spatial.generation import make_world
from engine.environments.spatial.questions import (
    Maker,
    Question,
    ask_coordinates,
    ask_direction,
    ask_perspective,
    ask_rotation,
    ask_turn,
    ask_viewer,
)
from engine.environments.spatial.view_questions import ask_location, ask_outcome, ask_view, ask_walk
from engine.environments.spatial.world import World

QuestionKind = Literal["dir", "rot", "rot_dual", "pov", "bwd_pov", "e2a", "fwd_loc", "bwd_loc", "fwd_fov", "bwd_nav"]
MAKERS: Final[dict[QuestionKind, Maker]] = {
    "dir": ask_direction,
    "rot": ask_rotation,
    "rot_dual": ask_turn,
    "pov": ask_perspective,
    "bwd_pov": ask_viewer,
    "e2a": ask_coordinates,
    "fwd_loc": ask_view,
    "bwd_loc": ask_location,
    "fwd_fov": ask_outcome,
    "bwd_nav": ask_walk,
}
WORLDS: Final = 500  # drawn before giving up; a question needs 60 at the most with three objects


def make_problem(
    seed: int, kinds: tuple[QuestionKind, ...], size: tuple[int, int], rooms: int, main: int, objects: int
) -> tuple[World, Question]:
    """The world and the question of a seed; its kind is drawn first, so that all kinds are equally frequent."""
    rng = np.random.default_rng([seed, 21])
    kind = kinds[int(rng.integers(len(kinds)))]
    for _ in range(WORLDS):
        world = make_world(rng, size, rooms, main, objects)
        question = MAKERS[kind](world, rng)
        if question is not None:
            return world, question
    raise RuntimeError(
        f"No world with {objects} objects in {rooms} rooms had a question of kind {kind} for seed {seed}."
    )
