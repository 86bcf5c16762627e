"""Whole runs on a real, untrained model: they record, resume exactly, obey, and fail with a cause and a remedy."""

from __future__ import annotations

import json
import os
import signal
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
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.models import save_small_model


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


def test_a_run_records_its_steps_trajectories_evaluations_and_end(model: Path, tmp_path: Path) -> None:
    assert train(run_config(model), tmp_path) == EXIT_DONE
    events = events_of(tmp_path)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sorted(steps_of(tmp_path)) == [1, 2, 3, 4]
    assert [event.step for event in events if event.kind == "evaluation_completed"] == [0, 2, 4]
    assert events[-1].kind == "run_finished" and events[-1].outcome == "completed"
    groups = [event for event in events if event.kind == "groups_filtered"]
    assert [(event.step, event.groups, event.kept) for event in groups] == [
        (step, [0, 1, 2, 3], [0, 1, 2, 3]) for step in (1, 2, 3, 4)
    ]
    records = [record for _, _, record in read_records(tmp_path / "trajectories/train/step_3.jsonl.zst")]
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
def test_an_interrupted_run_goes_on_exactly_as_if_it_had_not_been(model: Path, tmp_path: Path, algorithm: str) -> None:
    config = run_config(model, algorithm={"type": algorithm})
    train(config, tmp_path / "whole")
    train(config.model_copy(update={"steps": 2}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    assert steps_of(tmp_path / "parts") == steps_of(tmp_path / "whole")


def test_a_resumed_run_skips_a_damaged_checkpoint(model: Path, tmp_path: Path) -> None:
    train(run_config(model), tmp_path)
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


def start(model: Path, directory: Path, *, steps: int = 500) -> subprocess.Popen[bytes]:
    directory.mkdir(parents=True)
    config = run_config(model, steps=steps, evaluation={"every": 0, "at_start": False, "final_episodes": 4})
    (directory / "config.json").write_text(config.model_dump_json())
    command = [sys.executable, "-m", "engine", "train", str(directory / "config.json"), "--run-dir", str(directory)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})


def wait_for_step(directory: Path, step: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process.poll() is None, "the engine ended early"
        if (directory / "events.jsonl").exists() and any(s >= step for s in steps_of(directory)):
            return
        time.sleep(0.1)
    raise AssertionError(f"no step {step} within 90 seconds")


@pytest.mark.slow
def test_a_stop_request_ends_the_run_with_a_checkpoint(model: Path, tmp_path: Path) -> None:
    process = start(model, tmp_path / "run")
    wait_for_step(tmp_path / "run", 2, process)
    (tmp_path / "run/control.json").write_text(json.dumps({"request": "stop", "epoch": 0}))
    assert process.wait(timeout=30) == 0
    last = events_of(tmp_path / "run")[-1]
    assert (last.kind, last.outcome) == ("run_finished", "stopped")
    assert checkpoint_folder.latest_valid(tmp_path / "run/checkpoints") is not None


@pytest.mark.slow
def test_a_paused_run_makes_no_step_until_it_may_go_on(model: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    process = start(model, directory)
    wait_for_step(directory, 2, process)
    (directory / "control.json").write_text(json.dumps({"request": "pause", "epoch": 0}))
    time.sleep(2)
    paused_at = max(steps_of(directory))
    time.sleep(2)
    assert max(steps_of(directory)) == paused_at
    (directory / "control.json").write_text(json.dumps({"request": "run", "epoch": 0}))
    wait_for_step(directory, paused_at + 2, process)
    (directory / "control.json").write_text(json.dumps({"request": "stop", "epoch": 0}))
    assert process.wait(timeout=30) == 0


@pytest.mark.slow
def test_a_terminated_engine_saves_and_says_it_was_interrupted(model: Path, tmp_path: Path) -> None:
    process = start(model, tmp_path / "run")
    wait_for_step(tmp_path / "run", 1, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 3
    assert checkpoint_folder.latest_valid(tmp_path / "run/checkpoints") is not None
    assert not any(event.kind in ("run_finished", "run_failed") for event in events_of(tmp_path / "run"))


@pytest.mark.slow
def test_a_second_engine_in_one_run_directory_is_refused(model: Path, tmp_path: Path) -> None:
    process = start(model, tmp_path / "run")
    wait_for_step(tmp_path / "run", 1, process)
    second = subprocess.run(process.args, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1
    assert "Another engine is running" in second.stderr
    process.kill()
    process.wait()
