"""Every environment of the registry satisfies the contract, gymnasium's and ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS, make_environment
from engine.environments.checker import check_environment
from engine.environments.feasibility import action_budget, feasibility

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("bandit", {}),
    ("bandit", {"split": "test", "reversed": True}),
    ("frozen_lake", {}),
    ("frozen_lake", {"size": 8, "format": "coordinates"}),
    ("frozen_lake", {"success_rate": 0.8, "format": "grid_and_coordinates"}),
    ("frozen_lake", {"symbols": {"player": "@", "hole": "#"}}),
    ("sokoban", {}),
    ("sokoban", {"rows": 8, "columns": 7, "boxes": 2, "format": "coordinates"}),
    ("sokoban", {"symbols": {"wall": "W", "floor": ".", "target": "G", "box": "B", "player": "A"}}),
]


def test_every_kind_of_the_registry_is_tried_here() -> None:
    assert {kind for kind, _ in VARIANTS} == set(ENVIRONMENTS)


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_it_passes_gymnasiums_own_checker(kind: str, parameters: dict[str, Any]) -> None:
    check_env(make_environment(kind, **parameters), skip_render_check=True)


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_it_keeps_our_contract(kind: str, parameters: dict[str, Any]) -> None:
    assert check_environment(kind, parameters, seeds=range(15)) == []


@pytest.mark.parametrize("kind", sorted(ENVIRONMENTS))
def test_the_budget_it_proposes_is_enough_for_its_problems(kind: str) -> None:
    proposed = EnvironmentConfig.model_validate({"kind": kind})
    assert not feasibility(kind, {}, action_budget(proposed), range(50)).unlikely


@pytest.mark.parametrize("kind", sorted(ENVIRONMENTS))
def test_every_parameter_explains_itself(kind: str) -> None:
    assert all(field.description for field in type(make_environment(kind).config).model_fields.values())


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_an_action_that_is_none_is_refused_with_the_ones_there_are(kind: str, parameters: dict[str, Any]) -> None:
    environment = make_environment(kind, **parameters)
    environment.reset(seed=1)
    with pytest.raises(
        ValueError, match=f"7 is not an action of {kind}; the actions are 0 {environment.action_names()[0]}"
    ):
        environment.step(7)


PLAY = """
import json, sys
from engine.environments import make_environment
kind, parameters = sys.argv[1], json.loads(sys.argv[2])
seen = []
for seed in range(5):
    environment = make_environment(kind, **parameters)
    seen.append(environment.reset(seed=seed)[0])
    for action in (0, 1, 1, 0, 1):
        try:
            seen.append(environment.step(action)[:4])
        except RuntimeError:
            break
print(json.dumps(seen))
"""


@pytest.mark.parametrize("kind", sorted(ENVIRONMENTS))
def test_another_process_with_another_hash_seed_sees_the_same_episodes(kind: str) -> None:
    seen = [
        subprocess.check_output(
            [sys.executable, "-c", PLAY, kind, json.dumps({})], env={**os.environ, "PYTHONHASHSEED": salt}, text=True
        )
        for salt in ("1", "2")
    ]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", sorted(ENVIRONMENTS))
def test_another_luck_never_changes_the_problem(kind: str) -> None:
    environment = make_environment(kind)
    first, _ = environment.reset(seed=7, options={"chance_seed": 1})
    assert environment.reset(seed=7, options={"chance_seed": 2})[0] == first
