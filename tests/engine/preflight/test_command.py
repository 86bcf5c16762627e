"""`python -m engine preflight`, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main


def run(tmp_path: Path, environment: dict[str, Any], *options: str) -> dict[str, Any]:
    config, out = tmp_path / "environment.json", tmp_path / "report.json"
    config.write_text(json.dumps(environment))
    assert main(["preflight", str(config), "--out", str(out), *options]) == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_a_scripted_player_solves_every_problem_of_a_lake_without_slips(tmp_path: Path) -> None:
    lake = {"kind": "frozen_lake", "parameters": {"success_rate": 1.0}}
    found = run(tmp_path, lake, "--player", "scripted", "--problems", "4", "--rollouts", "3")
    assert [[one["value"] for one in problem["rollouts"]] for problem in found["problems"]] == [[1.0] * 3] * 4
    assert (found["verdict"]["level"], found["shares"]["easy"], found["asked"]) == ("bad", 1.0, 3)


def test_rollouts_of_one_problem_differ_by_chance_and_are_the_same_when_repeated(tmp_path: Path) -> None:
    first = run(tmp_path, {"kind": "bandit"}, "--player", "random", "--problems", "6", "--rollouts", "8")
    again = run(tmp_path, {"kind": "bandit"}, "--player", "random", "--problems", "6", "--rollouts", "8")
    assert first == again
    assert first["verdict"]["level"] == "good"


def test_an_environment_that_raises_is_a_fault_of_each_rollout(tmp_path: Path) -> None:
    kind = "tests.engine.environment_calls.misbehaving:Forgets"
    found = run(tmp_path, {"kind": kind}, "--player", "random", "--problems", "2", "--rollouts", "2")
    assert (found["faults"], found["verdict"]["level"]) == (4, "bad")
    assert "KeyError" in found["errors"][0]


def test_an_environment_whose_server_is_missing_ends_it_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "environment.json"
    config.write_text(json.dumps({"kind": "tests.engine.environment_calls.misbehaving:Unreachable"}))
    assert main(["preflight", str(config), "--problems", "2", "--rollouts", "2"]) == 1
    assert "error: The server of sounds cannot be reached. Start it." in capsys.readouterr().err


def test_a_server_that_is_missing_only_during_episodes_ends_it_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "environment.json"
    config.write_text(json.dumps({"kind": "tests.engine.environment_calls.misbehaving:Unplugged"}))
    assert main(["preflight", str(config), "--player", "random", "--problems", "2", "--rollouts", "2"]) == 1
    assert "cannot go on: The server of sounds cannot be reached. Start it." in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_plays_too(tmp_path: Path) -> None:
    found = run(tmp_path, {"kind": "frozen_lake"}, "--model", "tiny", "--problems", "4", "--rollouts", "2")
    assert found["played"] == 8
    assert found["faults"] == 0
    assert 0.0 < found["success"] <= 1.0


def test_a_file_that_is_no_environment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "environment.json"
    path.write_text('{"kind": "chess"}')
    assert main(["preflight", str(path)]) == 2
    assert "chess" in capsys.readouterr().err
