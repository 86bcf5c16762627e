"""What a run has trained on is kept with its checkpoints, and each evaluation measures how much of it is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from engine.config import build_config
from engine.environments import registry
from engine.event_lines import parse_event
from engine.events import EvaluationCompleted, ProblemsPlayed
from engine.training import checkpoint_folder
from engine.training.seen_problems import FILE, SeenProblems
from engine.training.session import EXIT_DONE, train
from tests.engine.talker import save_talking_model


def evaluations(directory: Path) -> list[EvaluationCompleted]:
    events = [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    return [event for event in events if isinstance(event, EvaluationCompleted)]


def run(tmp_path: Path, environment: dict[str, Any], **changes: Any) -> Path:
    settings = {
        "steps": 2,
        "threads": 1,
        "model": {"path": str(save_talking_model(tmp_path / "talker"))},
        "environments": [{"max_turns": 1, "max_response_tokens": 12, **environment}],
        "rollout": {"groups": 6, "group_size": 2},
        "diagnostics": {"every": 0},
        "evaluation": {"every": 1, "at_start": True, "episodes": 10, "final_episodes": 10},
        "checkpoint": {"every": 1},
        **changes,
    }
    assert train(build_config(settings), tmp_path / "run") == EXIT_DONE
    return tmp_path / "run"


def test_what_was_trained_on_is_in_every_checkpoint(tmp_path: Path) -> None:
    directory = run(tmp_path, {"kind": "frozen_lake", "parameters": {"size": 3}})
    first, last = (SeenProblems.read(path) for path in checkpoint_folder.checkpoints(directory / "checkpoints"))
    assert first is not None
    assert last is not None
    assert 1 <= len(first) <= 6  # as many as groups, or fewer where two have the same problem
    assert first.problems <= last.problems
    assert len(last) <= 12


def test_held_out_problems_of_a_tiny_space_are_never_trained_on(tmp_path: Path) -> None:
    directory = run(tmp_path, {"kind": "frozen_lake", "parameters": {"size": 2, "frozen_probability": 0.9}})
    found = evaluations(directory)
    assert len(found) == 3  # before the first update, after it, and the final one
    assert [event.trained_on for event in found] == [0, 0, 0]
    assert all(1 <= event.problems <= 10 for event in found)


def test_each_evaluation_records_its_problems_and_which_were_solved(tmp_path: Path) -> None:
    directory = run(tmp_path, {"kind": "frozen_lake", "parameters": {"size": 3}})
    events = [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    played = [event for event in events if isinstance(event, ProblemsPlayed)]
    found = evaluations(directory)
    assert [(one.step, one.final, one.environment) for one in played] == [
        (one.step, one.final, one.environment) for one in found
    ]
    for outcomes, evaluation in zip(played, found, strict=True):
        assert (len(outcomes.problems), outcomes.solved.count("1")) == (evaluation.episodes, evaluation.successes)
        assert len(set(outcomes.problems)) == evaluation.problems
    assert len({tuple(one.problems) for one in played}) == 1  # the same held-out problems every time


def test_outcomes_must_match_their_problems() -> None:
    with pytest.raises(ValidationError, match="2 problems and 1 outcomes"):
        ProblemsPlayed(step=1, environment="Lake", problems=["0" * 16, "1" * 16], solved="1")


def test_an_environment_with_one_problem_is_reported_as_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.ENVIRONMENTS, "one_lake", "tests.engine.environments.test_problems:OneLake")
    found = evaluations(run(tmp_path, {"kind": "one_lake", "max_turns": 5}))
    assert [(event.problems, event.trained_on) for event in found] == [(1, 0), (1, 10), (1, 10)]


def test_a_set_of_problems_survives_its_file(tmp_path: Path) -> None:
    SeenProblems([2**63 - 1, 5, 5]).write(tmp_path)
    found = SeenProblems.read(tmp_path)
    assert found is not None
    assert found.problems == {5, 2**63 - 1}
    assert np.load(tmp_path / FILE).nbytes == 16


def test_a_checkpoint_without_the_file_tells_nothing(tmp_path: Path) -> None:
    assert SeenProblems.read(tmp_path) is None
