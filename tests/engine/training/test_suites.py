"""Runs of two steps on data sets and games of other packages."""

from __future__ import annotations

import math
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from engine.config import build_config
from engine.event_lines import parse_event
from engine.rollout.trajectory_files import read_records
from engine.training.session import EXIT_DONE, train
from tests.engine.talker import save_talking_model

# Data sets on which the words that the very small model says, Left, Down, Right and Up, earn different rewards: they
# share letters in their order with a word, move the tiles of 2048, or have more than four letters.
DATA_SETS: dict[str, tuple[str, dict[str, Any], int]] = {
    "reasoning_gym": ("reasoning_gym", {"dataset": "spell_backward"}, 1),
    "textarena": ("textarena", {"env_id": "2048-v0", "options": {"target_tile": 4}}, 6),
    "verifiers": ("verifiers", {"taskset": "word_problem_tasks", "options": {"most_steps": 1}}, 1),
}


def needing(kind: str) -> Any:
    """A parameter that is skipped, before any model is made, where the kind's package is not installed."""
    package = DATA_SETS[kind][0]
    return pytest.param(kind, marks=pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_talking_model(tmp_path_factory.mktemp("talker"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [needing(kind) for kind in DATA_SETS])
def test_two_steps_of_training(kind: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, parameters, turns = DATA_SETS[kind]
    if kind == "verifiers":
        tasks = import_module("tests.engine.environments.suites.word_problem_tasks")
        monkeypatch.setitem(sys.modules, "word_problem_tasks", tasks)
    environment = {
        "kind": kind,
        "parameters": parameters,
        "max_turns": turns,
        "max_response_tokens": 12,
        "tag": "suite",
    }
    config = {
        "steps": 2,
        "threads": 1,
        "model": {"path": str(model)},
        "environments": [environment],
        "rollout": {"groups": 3, "group_size": 6, "context": {"type": "last_k_turns", "turns": 1}},
        "diagnostics": {"every": 0},
        "evaluation": {"every": 0, "at_start": False, "final_episodes": 4},
        "checkpoint": {"every": 0},
    }
    assert train(build_config(config), tmp_path) == EXIT_DONE
    events = [parse_event(line) for line in (tmp_path / "events.jsonl").read_bytes().splitlines()]
    steps = [event for event in events if event.kind == "step_completed"]
    assert len(steps) == 2
    for number, step in enumerate(steps, start=1):
        records = [record for _, _, record in read_records(tmp_path / f"trajectories/train/step_{number}.jsonl.zst")]
        assert len(records) == 18
        assert not any(record["fault"] for record in records)
        assert step.metrics["env/suite/return"] == pytest.approx(fmean(record["return"] for record in records))
        assert all(math.isfinite(value) for value in step.metrics.values())
        assert len({record["return"] for record in records}) > 1
        assert step.metrics["optim/grad_norm"] > 0
    (evaluation,) = [event for event in events if event.kind == "evaluation_completed"]
    assert evaluation.episodes == 4
    assert evaluation.trained_on == 0
