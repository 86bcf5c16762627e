"""`python -m engine` as a shell sees it: what is printed, and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.__main__ import COMMANDS, main
from engine.cpu_threads import SPINS, limit_thread_spinning, threads_for
from tests.engine.models import save_small_model

SMALL = """
[[environments]]
kind = "bandit"
[rollout]
groups = 2
group_size = 2
[model]
path = "{model}"
"""


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("arguments", [[], ["trian"]])
def test_an_unknown_command_is_answered_with_the_known_ones(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert all(command in said for command in COMMANDS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stepps = 3", "stepps: unknown field"),
        ("[rollout]\ngroup_sise = 3", "rollout.group_sise: unknown field"),
        ("[rollout]\ngroup_size = 1", "rollout.group_size: grpo compares the members of a group"),
        ("[[environments]]\nkind = 'frozen_pond'", "frozen_pond"),
        ("[[environments]]\nkind = 'frozen_lake'\nparameters = {size = 99}", "parameters.size"),
        ("steps = ", "is not valid"),
    ],
)
def test_a_config_that_cannot_be_used_names_its_field(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = written(tmp_path / "config.toml", text)
    assert main(["train", config, "--run-dir", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert not (tmp_path / "run").exists()


def test_a_budget_that_solves_no_problem_is_refused_before_anything_loads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "[[environments]]\nkind = 'sokoban'\nmax_actions = 1\nparameters = {boxes = 2}"  # two boxes take two pushes
    assert main(["train", written(tmp_path / "config.toml", text), "--run-dir", str(tmp_path / "run"), "--quiet"]) == 1
    events = (tmp_path / "run" / "events.jsonl").read_text()
    assert "cannot be solved within its budget" in events


@pytest.mark.slow
def test_bench_times_the_parts_of_real_steps(tmp_path: Path) -> None:
    config = written(tmp_path / "config.toml", SMALL.format(model=save_small_model(tmp_path / "model")))
    command = [sys.executable, "-m", "engine", "bench", config, "--steps", "2"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert 0 < result["time/rollout"] + result["time/update"] <= result["time/step"]
    assert result["perf/sampled_tokens_per_second"] > 0


def test_thread_spinning_is_limited_unless_the_user_sets_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("GOMP_SPINCOUNT", "")
    monkeypatch.delenv("GOMP_SPINCOUNT")
    limit_thread_spinning()
    assert os.environ["GOMP_SPINCOUNT"] == str(SPINS)
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    limit_thread_spinning()
    assert os.environ["GOMP_SPINCOUNT"] == "7"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    limit_thread_spinning()
    assert "GOMP_SPINCOUNT" not in os.environ


def test_the_configuration_says_how_many_threads_then_the_environment_then_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert (threads_for(5), threads_for(0)) == (5, 3)
    for unread in ("", "0", "2,1", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", unread)
        assert threads_for(0) == os.cpu_count()
