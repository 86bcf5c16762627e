"""`check-env`: what it prints and returns, and that it ends whatever the environment does."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import Any, ClassVar

import pytest

from engine.check_environment import check_env_main
from engine.environments import ENVIRONMENTS
from engine.environments.frozen_lake import FrozenLake
from engine.errors import ConfigError

SLOW = 0.15  # seconds of a reset: the contract alone calls it more than ten times for a seed


class StepHangs(FrozenLake):
    default_limits: ClassVar[dict[str, float]] = {"step_seconds": 0.3}

    def step(self, action: Any) -> Any:
        while True:
            time.sleep(0.01)


class ConstructorHangs(FrozenLake):
    default_limits: ClassVar[dict[str, float]] = {"construct_seconds": 0.3}

    def __init__(self, config: Any) -> None:
        time.sleep(30)


class ResetIsSlow(FrozenLake):
    def reset(self, **given: Any) -> Any:
        time.sleep(SLOW)
        return super().reset(**given)


class Exits(FrozenLake):
    def step(self, action: Any) -> Any:
        sys.exit(0)


class KeepsTheLock(FrozenLake):
    def reset(self, **given: Any) -> Any:
        re.match("(a+)+$", "a" * 60 + "b")  # backtracks for years, in C


def test_the_command_passes_a_healthy_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_env_main(["frozen_lake", "--set", "success_rate=0.6"]) == 0
    verdict, _, *measured = capsys.readouterr().out.splitlines()
    assert verdict == "frozen_lake satisfies the contract."
    assert [line.split(":")[0] for line in measured] == ["Problems", "Solutions", "Rewards", "Speed"]


def test_the_command_fails_a_broken_kind_and_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "broken", "tests.engine.environments.broken:Raises")
    assert check_env_main(["broken"]) == 1
    written = capsys.readouterr().out
    assert "raises: seed 0: OSError: the ice broke" in written
    assert "Not measured: OSError: the ice broke" in written


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("StepHangs", "time-limit: seed 0: step did not return within 0.3 s"),
        ("ConstructorHangs", "time-limit: seed 0: the constructor did not return within 0.3 s"),
    ],
)
def test_a_call_that_exceeds_its_limit_is_named_and_ends_the_check(
    name: str, finding: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "broken", f"{__name__}:{name}")
    started = time.monotonic()
    assert check_env_main(["broken"]) == 1
    written = capsys.readouterr().out
    assert finding in written
    assert f"Not measured: TimeLimit: {finding.partition('seed 0: ')[2]}" in written
    assert time.monotonic() - started < 10


def test_a_slow_environment_is_measured_on_as_many_seeds_as_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "slow", f"{__name__}:ResetIsSlow")
    started = time.monotonic()
    assert check_env_main(["slow", "--seconds", "1"]) == 1
    assert time.monotonic() - started < 4
    written = capsys.readouterr().out
    assert "slow is too slow: not one seed was checked within 0.5 s. Raise --seconds." in written
    # half a second is left, for two resets a seed
    assert re.search(r"Measured \d of 200 seeds before the time ran out\.", written)


def test_an_environment_that_exits_does_not_end_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "broken", f"{__name__}:Exits")
    assert check_env_main(["broken"]) == 1
    written = capsys.readouterr().out
    assert "SystemExit: 0" in written
    assert "Not measured: SystemExit: 0" in written


@pytest.mark.slow  # the command's limit and its grace
def test_code_that_blocks_the_whole_process_is_ended_with_its_stack() -> None:
    command = [sys.executable, "-m", "engine", "check-env", f"{__name__}:KeepsTheLock", "--seconds", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
    assert "in reset" in ended.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_time_limit_is_a_positive_number(seconds: str) -> None:
    with pytest.raises(ConfigError, match="--seconds is"):
        check_env_main(["frozen_lake", "--seconds", seconds])
