"""Whole runs on a real, untrained model: they record, resume exactly, obey, and fail with a cause and a remedy."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engine.config import RunConfig, build_config
from engine.event_lines import parse_event
from engine.metrics import OF_THE_MACHINE
from engine.rollout.trajectory_files import read_records
from engine.training import checkpoint_folder
from engine.training.session import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, train
from tests.engine.models import save_small_model
from tests.engine.training.during_a_run import end_this_process, request, train_while, wait_for_step


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def run_config(model: Path, /, **changes: Any) -> RunConfig:
    base: dict[str, Any] = {
        "steps": 4,
        "threads": 1,
        "model": {"path": str(model)},
        "environments": [{"kind": "frozen_lake", "max_response_tokens": 10, "max_turns": 2}],
        "rollout": {"groups": 4, "group_size": 2},
        "diagnostics": {"every": 2, "reasonings": 4, "prompts": 3},
        "evaluation": {"every": 2, "episodes": 4, "final_episodes": 4},
        "checkpoint": {"every": 2},
    }
    return build_config({**base, **changes})


def events_of(directory: Path) -> list[Any]:
    return [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]


def steps_of(directory: Path) -> dict[int, dict[str, float]]:
    """Metrics by step, clocks and memory left out; later attempts replace earlier ones."""
    return {
        event.step: {k: v for k, v in event.metrics.items() if not k.startswith(OF_THE_MACHINE)}
        for event in events_of(directory)
        if event.kind == "step_completed"
    }


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `run_config` that nothing interrupted."""
    directory = tmp_path_factory.mktemp("whole")
    assert train(run_config(model), directory) == EXIT_DONE
    return directory


def test_a_run_records_its_steps_trajectories_evaluations_and_end(whole: Path) -> None:
    events = events_of(whole)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sorted(steps_of(whole)) == [1, 2, 3, 4]
    assert [event.step for event in events if event.kind == "evaluation_completed"] == [0, 2, 4]
    assert events[-1].kind == "run_finished" and events[-1].outcome == "completed"
    groups = [event for event in events if event.kind == "groups_filtered"]
    assert [(event.step, event.groups, event.kept) for event in groups] == [
        (step, [0, 1, 2, 3], [0, 1, 2, 3]) for step in (1, 2, 3, 4)
    ]
    records = [record for _, _, record in read_records(whole / "trajectories/train/step_3.jsonl.zst")]
    assert len(records) == 8
    assert [record["return"] for record in records] == [value for row in groups[2].returns for value in row]
    assert {record["kept"] for record in records} == {None}  # there is no filter


def test_an_evaluation_in_parts_plays_each_of_its_problems_once(model: Path, tmp_path: Path) -> None:
    few = {"every": 0, "at_start": False, "episodes": 4, "final_episodes": 7}
    played = []
    for at_once in (0, 3):
        directory = tmp_path / str(at_once)
        config = run_config(model, steps=1, evaluation={**few, "episodes_at_once": at_once})
        assert train(config, directory) == EXIT_DONE
        (found,) = [event for event in events_of(directory) if event.kind == "problems_played"]
        played.append(found.problems)
    assert len(played[0]) == 7 and played[0] == played[1]


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_an_interrupted_run_goes_on_exactly_as_if_it_had_not_been(
    model: Path, whole: Path, tmp_path: Path, algorithm: str
) -> None:
    config = run_config(model, algorithm={"type": algorithm})
    if algorithm != "grpo":
        whole = tmp_path / "whole"
        train(config, whole)
    train(config.model_copy(update={"steps": 2}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    assert steps_of(tmp_path / "parts") == steps_of(whole)


def test_a_resumed_run_skips_a_damaged_checkpoint(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "checkpoints", tmp_path / "checkpoints")
    weights = tmp_path / "checkpoints/step_4/model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    found = checkpoint_folder.latest_valid(tmp_path / "checkpoints")
    assert found is not None and found.name == "step_2"


def test_a_torn_last_event_is_cut_off_and_numbering_goes_on(model: Path, tmp_path: Path) -> None:
    config = run_config(model)
    train(config.model_copy(update={"steps": 2}), tmp_path)
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"kind": "step_comp')
    train(config, tmp_path, resume=True)
    assert [event.seq for event in events_of(tmp_path)] == list(range(1, len(events_of(tmp_path)) + 1))


@pytest.mark.parametrize(
    ("path", "cause"), [("/no/such/model", "does not exist"), ("EMPTY", "has no config.json"), ("BAD", "could not be")]
)
def test_a_model_that_is_missing_or_no_model_fails_with_a_remedy(tmp_path: Path, path: str, cause: str) -> None:
    (tmp_path / "EMPTY").mkdir()
    (tmp_path / "BAD").mkdir()
    (tmp_path / "BAD/config.json").write_text("{}")
    chosen = path if path.startswith("/") else str(tmp_path / path)
    assert train(run_config(Path(chosen)), tmp_path / "run") == EXIT_FAILED
    failure = events_of(tmp_path / "run")[-1]
    assert failure.kind == "run_failed"
    assert cause in failure.message
    assert failure.remedy


def test_an_environment_that_cannot_be_solved_within_its_budget_is_refused(model: Path, tmp_path: Path) -> None:
    far = {"kind": "sokoban", "parameters": {"boxes": 3, "rows": 8, "columns": 8, "depth": 30}, "max_actions": 1}
    assert train(run_config(model, environments=[far]), tmp_path) == EXIT_FAILED
    assert "cannot be solved within its budget" in events_of(tmp_path)[-1].message


def test_an_environment_that_always_raises_fails_the_run_and_names_itself(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.environments.registry import ENVIRONMENTS

    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.training.faulty:FaultyLake")
    assert train(run_config(model), tmp_path) == EXIT_FAILED
    failure = events_of(tmp_path)[-1]
    assert failure.error == "EnvironmentFault"
    assert "FrozenLake" in failure.message and "the ice broke" in failure.message
    assert "check-env" in failure.remedy


def long_run(model: Path) -> RunConfig:
    return run_config(model, steps=500, evaluation={"every": 0, "at_start": False, "final_episodes": 4})


@pytest.mark.slow
def test_a_stop_request_ends_the_run_with_a_checkpoint(model: Path, tmp_path: Path) -> None:
    def stop() -> None:
        wait_for_step(tmp_path, 2)
        request(tmp_path, "stop")

    assert train_while(stop, long_run(model), tmp_path) == EXIT_DONE
    last = events_of(tmp_path)[-1]
    assert (last.kind, last.outcome) == ("run_finished", "stopped")
    assert checkpoint_folder.latest_valid(tmp_path / "checkpoints") is not None


@pytest.mark.slow
def test_a_paused_run_makes_no_step_until_it_may_go_on(model: Path, tmp_path: Path) -> None:
    steps: list[int] = []

    def pause() -> None:
        wait_for_step(tmp_path, 2)
        request(tmp_path, "pause")
        for _ in range(2):
            time.sleep(2)
            steps.append(max(steps_of(tmp_path)))
        request(tmp_path, "run")
        wait_for_step(tmp_path, steps[-1] + 2)
        request(tmp_path, "stop")

    assert train_while(pause, long_run(model), tmp_path) == EXIT_DONE
    assert steps[0] == steps[1]


@pytest.mark.slow
def test_a_terminated_engine_saves_and_says_it_was_interrupted(model: Path, tmp_path: Path) -> None:
    def terminate() -> None:
        wait_for_step(tmp_path, 1)
        end_this_process()

    assert train_while(terminate, long_run(model), tmp_path) == EXIT_INTERRUPTED
    assert checkpoint_folder.latest_valid(tmp_path / "checkpoints") is not None
    assert not any(event.kind in ("run_finished", "run_failed") for event in events_of(tmp_path))


@pytest.mark.slow
def test_a_second_engine_in_one_run_directory_is_refused(model: Path, tmp_path: Path) -> None:
    def start_a_second() -> None:
        wait_for_step(tmp_path, 1)
        request(tmp_path, "pause")
        (tmp_path / "second.json").write_text(long_run(model).model_dump_json())
        command = [sys.executable, "-m", "engine", "train", str(tmp_path / "second.json"), "--run-dir", str(tmp_path)]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert second.returncode == 1
        assert "Another engine is running" in second.stderr
        request(tmp_path, "stop")

    assert train_while(start_a_second, long_run(model), tmp_path) == EXIT_DONE
