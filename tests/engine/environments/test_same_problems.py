"""Seeds keep their problems, texts, rewards and random outcomes: recorded runs are replayed from seeds and actions."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from engine.environments import make_environment

# SHA-256 of what `played` yields, see that function
RECORDED: list[tuple[str, dict[str, Any], str]] = [
    ("frozen_lake", {}, "e5885baefcb629ce"),
    ("frozen_lake", {"success_rate": 0.7, "size": 6, "format": "grid_and_coordinates"}, "79859547d5ef852d"),
    ("frozen_lake", {"success_rate": 0.1, "format": "coordinates", "symbols": {"player": "@"}}, "10916c01ae089fe0"),
    ("sokoban", {}, "7a00317ba7baee3d"),
    (
        "sokoban",
        {"rows": 7, "columns": 8, "boxes": 2, "depth": 16, "format": "grid_and_coordinates"},
        "701c6709bbce939a",
    ),
    ("sokoban", {"format": "coordinates", "symbols": {"wall": "W", "floor": "."}}, "029036c69bc21029"),
    ("bandit", {}, "8ce4ed866a5326a0"),
    ("bandit", {"reversed": True, "risky_probability": 0.5}, "d4c79b80587f3baa"),
    ("game_2048", {"size": 3, "target": 32}, "b65edf138bc06cdf"),
    ("sudoku", {}, "158e75a7e92349df"),
    ("countdown", {}, "4c39ceb7540e971f"),
    ("rubiks_cube", {"depth": 4}, "6302527a0cedd0e4"),
]


@pytest.mark.parametrize(("kind", "parameters", "digest"), RECORDED)
def test_a_seed_is_the_same_episode_as_ever(kind: str, parameters: dict[str, Any], digest: str) -> None:
    text = "\n".join(played(kind, parameters))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def played(kind: str, parameters: dict[str, Any]) -> list[str]:
    """40 episodes of up to 12 random actions: problem, texts, rewards, ends and infos."""
    environment = make_environment(kind, **parameters)
    rng = np.random.default_rng(5)
    seen: list[str] = []
    for seed in range(40):
        observation, info = environment.reset(seed=seed, options={"chance_seed": 7 * seed + 1})
        seen += [environment.problem(), observation, repr(info), repr(environment.drawing()), environment.describe()]
        for _ in range(12):
            action = environment.resolve(environment.random_action(rng))
            observation, *rest = environment.step(action)
            seen += [observation, repr(rest), repr(environment.drawing())]
            if rest[1] or rest[2]:
                break
    return seen
