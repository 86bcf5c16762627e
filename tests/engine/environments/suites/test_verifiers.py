"""The adapter for verifiers, with the installed package and a task set of ours."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from engine.environments import make_environment
from engine.environments.base import Environment
from engine.environments.checker import check_environment
from engine.errors import ConfigError

pytest.importorskip("verifiers.v1", reason="needs the extra verifiers")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("tests.engine.environments.suites.word_problem_tasks")
    monkeypatch.setitem(sys.modules, "word_problem_tasks", module)  # task sets are named by a module without a dot


def make(**options: Any) -> Environment:
    return make_environment("verifiers", taskset="someone/word-problem-tasks", options=options)


def test_it_keeps_the_contract() -> None:
    assert check_environment("verifiers", {"taskset": "word_problem_tasks"}, range(5)) == []
    check_env(make(), skip_render_check=True)


def test_a_response_is_scored_by_the_weighted_rewards_of_its_task() -> None:
    environment = make(most_steps=1)
    question, _ = environment.reset(seed=3)
    assert question.startswith("Write one number.\n\n")
    answer = environment.task.data.answer  # type: ignore[attr-defined]
    _, reward, terminated, _, info = environment.step(answer)
    assert reward == pytest.approx(1 + 0.1)  # right, and brief with a weight of 0.1
    assert (terminated, info["success"], info["score"]) == (True, True, reward)
    environment.reset(seed=3)
    _, reward, _, _, info = environment.step("999999")
    assert (reward, info["success"]) == (0.0, False)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"taskset": "no_such_tasks"}, "taskset 'no_such_tasks' not found"),
        ({"taskset": "word_problem_tasks", "options": {"nope": 1}}, "Extra inputs are not permitted"),
        ({"taskset": "word_problem_tasks", "options": {"tools": True}}, "it has tools"),
        ({"taskset": "word_problem_tasks", "options": {"count": 0}}, "it has no tasks"),
        ({"taskset": "word_problem_tasks", "options": {"container": True}}, "its tasks need a container"),
        ({"taskset": "textarena", "options": {"game": "Wordle-v0"}}, "it has an Env of its own"),
    ],
)
def test_what_cannot_be_played_is_refused_with_the_reason(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_environment("verifiers", **parameters)
