"""Every environment of the registry satisfies the contract, gymnasium's and ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS, environment_class, make_environment
from engine.environments.checker import check_environment
from engine.environments.feasibility import action_budget, feasibility
from tests.engine.environments.lean_test_server import lean_test_server

EXAMPLES: list[tuple[str, dict[str, Any]]] = [
    (kind, dict(fields.get("parameters", {})))
    for kind in ENVIRONMENTS
    for fields in environment_class(kind).examples.values()
]
SLOW = ("deepcoder", "lean")  # each step runs a program or asks a server
SELF_CONTAINED = sorted(kind for kind in ENVIRONMENTS if not environment_class(kind).needs)
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *EXAMPLES,
    ("bandit", {"split": "test", "reversed": True}),
    ("frozen_lake", {"size": 8, "format": "coordinates"}),
    ("frozen_lake", {"success_rate": 0.8, "format": "grid_and_coordinates"}),
    ("frozen_lake", {"symbols": {"player": "@", "hole": "#"}}),
    ("countdown", {"fewest_numbers": 2, "most_numbers": 5, "operations": "*+", "attempts": 2}),
    ("game_2048", {"size": 2, "target": 8, "list_moves": False, "log_reward": False, "stop_at_target": False}),
    ("rubiks_cube", {"depth": 30, "scramble": "random", "distance_reward": 0.1}),
    ("sudoku", {"size": 9, "difficulty": "hard", "format": "boxes", "feedback": "none"}),
    ("sokoban", {"rows": 8, "columns": 7, "boxes": 2, "format": "coordinates"}),
    ("sokoban", {"symbols": {"wall": "W", "floor": ".", "target": "G", "box": "B", "player": "A"}}),
]


@pytest.fixture(autouse=True, scope="module")
def servers() -> Iterator[None]:
    """The servers that environments need."""
    with lean_test_server() as (address, _), pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAN_SERVER_API_URL", address)
        yield


@pytest.mark.parametrize("kind", SELF_CONTAINED)
def test_every_kind_has_an_example_with_its_default_parameters(kind: str) -> None:
    assert {} in [parameters for one, parameters in EXAMPLES if one == kind]


def test_no_two_examples_share_a_name() -> None:
    names = [name for kind in ENVIRONMENTS for name in environment_class(kind).examples]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_it_passes_gymnasiums_own_checker(kind: str, parameters: dict[str, Any]) -> None:
    check_env(make_environment(kind, **parameters), skip_render_check=True)


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_it_keeps_our_contract(kind: str, parameters: dict[str, Any]) -> None:
    assert check_environment(kind, parameters, seeds=range(4 if kind in SLOW else 12)) == []


@pytest.mark.parametrize("kind", SELF_CONTAINED)
def test_the_budget_it_proposes_is_enough_for_its_problems(kind: str) -> None:
    proposed = EnvironmentConfig.model_validate({"kind": kind})
    assert not feasibility(kind, {}, action_budget(proposed), range(50)).unlikely


@pytest.mark.parametrize("kind", SELF_CONTAINED)
def test_every_parameter_explains_itself(kind: str) -> None:
    assert all(field.description for field in type(make_environment(kind).config).model_fields.values())


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_an_action_that_is_none_is_refused_with_the_ones_there_are(kind: str, parameters: dict[str, Any]) -> None:
    environment = make_environment(kind, **parameters)
    environment.reset(seed=1)
    names = environment.action_names()
    allowed = "its actions are text" if names is None else f"the actions are 0 {names[0]}"
    with pytest.raises(ValueError, match=re.escape(f"77 is not an action of {kind}; {allowed}")):
        environment.step(77)


PLAY = """
import json, sys
import numpy as np
from engine.environments import make_environment
seen = {}
for kind in sys.argv[1:]:
    seen[kind] = []
    for seed in range(3):
        environment = make_environment(kind)
        rng = np.random.default_rng(seed)
        seen[kind].append(environment.reset(seed=seed)[0])
        for _ in range(5):
            try:
                seen[kind].append(environment.step(environment.resolve(environment.random_action(rng)))[:4])
            except RuntimeError:
                break
print(json.dumps(seen))
"""


def test_another_process_with_another_hash_seed_sees_the_same_episodes() -> None:
    one, other = (
        json.loads(
            subprocess.check_output(
                [sys.executable, "-c", PLAY, *SELF_CONTAINED], env={**os.environ, "PYTHONHASHSEED": salt}, text=True
            )
        )
        for salt in ("1", "2")
    )
    assert list(one) == SELF_CONTAINED
    assert [kind for kind in SELF_CONTAINED if one[kind] != other[kind]] == []


@pytest.mark.parametrize("kind", SELF_CONTAINED)
def test_another_luck_never_changes_the_problem(kind: str) -> None:
    environment = make_environment(kind)
    first, _ = environment.reset(seed=7, options={"chance_seed": 1})
    assert environment.reset(seed=7, options={"chance_seed": 2})[0] == first


def _episode(kind: str, seed: int) -> list[Any]:
    """Observations and rewards of ten random actions."""
    environment = make_environment(kind)
    chance = np.random.default_rng(seed)
    seen: list[Any] = [environment.reset(seed=seed)[0]]
    for _ in range(10):
        observation, reward, terminated, truncated, _ = environment.step(
            environment.resolve(environment.random_action(chance))
        )
        seen.append((observation, reward))
        if terminated or truncated:
            break
    return seen


@pytest.mark.parametrize("kind", SELF_CONTAINED)
def test_threads_play_the_same_episodes_as_one_thread(kind: str) -> None:
    seeds = [1000 + index % 8 for index in range(32)]  # each seed in several threads, which share caches
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: _episode(kind, seed), seeds))
    assert together == [_episode(kind, seed) for seed in seeds]
