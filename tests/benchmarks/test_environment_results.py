"""What the table of environments is made from: players through the whole rollout, runs of presets, and the Markdown."""

from __future__ import annotations

import json

import pytest

from benchmarks.environment_results import RESULTS, TABLES, outcome, play
from benchmarks.environment_tables import tables
from engine.config import EnvironmentConfig
from engine.environments.registry import ENVIRONMENTS

HALF = {"successes": 20, "episodes": 40}
MOST = {"successes": 30, "episodes": 40}


def test_a_scripted_player_solves_every_problem_through_the_whole_rollout() -> None:
    found = outcome(play(EnvironmentConfig(kind="countdown", tag="Countdown"), "scripted"))
    assert (found["episodes"], found["successes"], found["malformed"], found["faults"]) == (200, 200, 0, 0)


def test_the_table_has_a_run_of_each_seed_and_the_difference_to_the_start() -> None:
    """Wilson's interval of 20 of 40 is 0.352 to 0.648, and of 30 of 40 is 0.598 to 0.858; that of 60 of 80 is 0.645 to
    0.832. Newcombe's of 60 of 80 against 20 of 40: 0.25 - sqrt(0.1048^2 + 0.1480^2) = 0.0686, and
    0.25 + sqrt(0.082^2 + 0.148^2) = 0.419."""
    run = {"before": HALF, "after": MOST, "in_training": [0.5, 0.7], "minutes": 2.0}
    entry = {"title": "Lake", "kind": "frozen_lake", "example": "FrozenLake", "model": "tiny", "steps": 9}
    text = tables({"players": {}, "training": {"lake": {**entry, "seeds": {"1": run, "2": run}}}, "notes": {}})
    assert "| Lake | FrozenLake | tiny | 9 | 0.500 [0.352, 0.648] " in text
    assert "1: 0.750 [0.598, 0.858]<br>2: 0.750 [0.598, 0.858]" in text
    assert "| +0.069 to +0.419 | 0.500 to 0.700 | 2, 2 |" in text


def test_an_environment_that_could_not_be_played_says_why() -> None:
    entry = {"title": "Lean", "needs": "a server", "examples": {"Lean": {"not_run": "No server answers."}}}
    text = tables({"players": {"lean": entry}, "training": {}, "notes": {"lean": "Lean was not tried."}})
    assert "| Lean | Lean | 0 | | | not run: No server answers. | |" in text
    assert "* Lean was not tried.\n" in text
    assert "In Lean only a real language model can act" in text


def test_the_committed_table_is_that_of_the_committed_results() -> None:
    results = json.loads(RESULTS.read_text())
    assert TABLES.read_text() == tables(results)
    assert set(results["players"]) <= set(ENVIRONMENTS)


@pytest.mark.parametrize("kind", ["webshop", "search"])
def test_scripted_players_of_environments_for_large_models_succeed_through_the_whole_rollout(kind: str) -> None:
    examples = json.loads(RESULTS.read_text())["players"][kind]["examples"].values()
    assert all(example["scripted"]["faults"] == example["scripted"]["malformed"] == 0 for example in examples)
    assert any(example["scripted"]["successes"] > 0.5 * example["scripted"]["episodes"] for example in examples)
