"""Seeds keep their problems, texts, rewards and random outcomes: recorded runs are replayed from seeds and actions."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from engine.environments import make_environment

# SHA-256 of what `played` yields, see that function
RECORDED: list[tuple[str, dict[str, Any], str]] = [
    ("frozen_lake", {}, "d3ed7fb6716f0f32"),
    ("frozen_lake", {"success_rate": 0.7, "size": 6, "format": "grid_and_coordinates"}, "b6598046af0e7299"),
    ("frozen_lake", {"success_rate": 0.1, "format": "coordinates", "symbols": {"player": "@"}}, "2e2bd6c02dd138d0"),
    ("sokoban", {}, "e5a464015950f11e"),
    (
        "sokoban",
        {"rows": 7, "columns": 8, "boxes": 2, "depth": 16, "format": "grid_and_coordinates"},
        "e27f9aea6a68c319",
    ),
    ("sokoban", {"format": "coordinates", "symbols": {"wall": "W", "floor": "."}}, "84ae98b949f037a2"),
    ("bandit", {}, "a8055c289e75a0cf"),
    ("bandit", {"reversed": True, "risky_probability": 0.5}, "59ed718f4ed585e0"),
    ("game_2048", {"size": 3, "target": 32}, "9b54f07405cb1c71"),
    ("sudoku", {}, "90eea5e94559e1d2"),
    ("countdown", {}, "734ead9fc0daba0c"),
    ("rubiks_cube", {"depth": 4}, "abf5343e5b470dca"),
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
        seen += [environment.problem(), observation, repr(info)]
        for _ in range(12):
            action = environment.resolve(environment.random_action(rng))
            observation, *rest = environment.step(action)
            seen += [observation, repr(rest)]
            if rest[1] or rest[2]:
                break
    return seen
