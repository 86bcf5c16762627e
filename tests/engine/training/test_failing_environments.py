"""Runs whose environments fail: too many faults end the run and are named, and a hang leaves it responsive."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engine.config import EnvironmentConfig, RunConfig, build_config
from engine.config.sampling import EnvironmentLimits
from engine.environments.feasibility import require_solvable
from engine.environments.frozen_lake import FrozenLake
from engine.environments.registry import ENVIRONMENTS
from engine.errors import EnvironmentFault
from engine.event_lines import parse_event
from engine.events import RunFailed
from engine.rollout.types import Trajectory
from engine.training.checkpoint_folder import latest_valid
from engine.training.checkpoint_settings import checkpoint_settings
from engine.training.fault_share import require_few_faults
from engine.training.session import EXIT_FAILED, EXIT_INTERRUPTED, train
from tests.engine.training.together import start_alone

LAKE = {"kind": "frozen_lake", "parameters": {"size": 3, "frozen_probability": 1.0}, "max_response_tokens": 12}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.engine.talker import save_talking_model

    return save_talking_model(tmp_path_factory.mktemp("talker"))


def settings(model: Path, **changes: Any) -> dict[str, Any]:
    return {
        "steps": 2,
        "threads": 1,
        "model": {"path": str(model)},
        "environments": [LAKE],
        "rollout": {"groups": 4, "group_size": 4},
        "diagnostics": {"every": 0},
        "evaluation": {"every": 1, "at_start": False, "episodes": 6, "final_episodes": 6},
        "checkpoint": {"every": 0},
        **changes,
    }


def failure_in(directory: Path) -> RunFailed:
    last = parse_event((directory / "events.jsonl").read_bytes().splitlines()[-1])
    assert isinstance(last, RunFailed)
    return last


def trajectory(fault_kind: str = "", *, tag: str = "lake", seed: int = 1) -> Trajectory:
    fault = f"The environment {tag!r} failed with seed {seed}: {fault_kind}." if fault_kind else ""
    return Trajectory(
        environment=tag, kind="frozen_lake", group=0, member=0, seed=seed, fault=fault, fault_kind=fault_kind
    )


def test_more_faults_than_the_share_are_an_error_that_names_the_most_frequent_one() -> None:
    failed = [trajectory("OSError in step", seed=3), *[trajectory("time limit of step", seed=n) for n in (4, 5)]]
    require_few_faults([*failed, *[trajectory()] * 3], share=0.5, what="step 7")  # 3 of 6 is not more than half
    with pytest.raises(EnvironmentFault) as raised:
        require_few_faults([*failed, *[trajectory()] * 2], share=0.5, what="step 7")
    assert raised.value.message == (
        "In 3 of 5 episodes of step 7 the environment failed, more than the share of 0.5 that stop.fault_share allows. "
        "The most frequent fault, in 2 episodes of 'lake', is time limit of step. The first of them: The environment "
        "'lake' failed with seed 4: time limit of step."
    )


def test_faults_of_two_environments_are_counted_separately() -> None:
    failed = [trajectory("OSError in step", tag=tag) for tag in ("a", "b", "b")]
    with pytest.raises(EnvironmentFault, match="in 2 episodes of 'b'"):
        require_few_faults(failed, share=0.0, what="step 1")
    require_few_faults(failed, share=1.0, what="step 1")
    require_few_faults([trajectory()], share=0.0, what="step 1")


def test_a_step_with_too_many_faults_ends_the_run(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.training.faulty:BreakingLake")
    changes = settings(model, stop={"fault_share": 0.1}, evaluation={"at_start": False})
    assert train(build_config(changes), tmp_path) == EXIT_FAILED
    failed = failure_in(tmp_path)
    assert (failed.error, failed.step, failed.retryable) == ("EnvironmentFault", 0, False)
    assert "of 16 episodes of step 1" in failed.message and "is OSError in step" in failed.message
    assert "raise stop.fault_share" in failed.remedy


def test_a_server_that_is_gone_ends_the_run_at_once_with_a_checkpoint(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.training.faulty:UnreachableLake")
    assert train(build_config(settings(model)), tmp_path) == EXIT_FAILED  # in the evaluation after the first step
    failed = failure_in(tmp_path)
    assert (failed.error, failed.step, failed.remedy) == ("EnvironmentUnavailable", 1, "Start it.")
    assert "'FrozenLake' (frozen_lake) cannot go on: The ice server does not respond." in failed.message
    saved = latest_valid(tmp_path / "checkpoints")
    assert saved is not None and saved.name.endswith("1")


class SlowToStart(FrozenLake):
    def __init__(self, config: Any) -> None:
        time.sleep(3600)


class Absent(FrozenLake):
    def __init__(self, config: Any) -> None:
        raise OSError("no ice")


@pytest.mark.parametrize("lake", ["SlowToStart", "Absent"])
def test_an_environment_that_fails_before_the_run_is_left_to_the_rollouts_to_report(
    monkeypatch: pytest.MonkeyPatch, lake: str
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"{__name__}:{lake}")
    limits = {"construct_seconds": 0.1, "reset_seconds": 0.1}
    require_solvable(build_config({"environments": [{**LAKE, "limits": limits}]}))


def test_limits_come_from_the_kind_unless_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FrozenLake, "default_limits", {"step_seconds": 300.0})
    assert EnvironmentConfig.model_validate(LAKE).limits == EnvironmentLimits(step_seconds=300.0)
    given = EnvironmentConfig.model_validate({**LAKE, "limits": {"step_seconds": 5}})
    assert given.limits.step_seconds == 5.0
    assert EnvironmentConfig.model_validate(given.model_dump()) == given


def test_a_run_may_be_resumed_with_other_limits() -> None:
    one, other = (build_config({"environments": [{**LAKE, "limits": {"step_seconds": seconds}}]}) for seconds in (1, 2))
    assert checkpoint_settings(one) == checkpoint_settings(other)


def train_on_hanging_ice(config: RunConfig, directory: Path, hang: str) -> None:
    os.environ["TESTS_HANG"] = hang
    ENVIRONMENTS["frozen_lake"] = "tests.engine.training.faulty:HangingLake"
    sys.exit(train(config, directory))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hang", "workers"), [("step sleep", 0), ("step+close loop", 0), ("step+close sleep", 2), ("reset sleep", 0)]
)
def test_sigterm_ends_an_engine_whose_environment_hangs(model: Path, tmp_path: Path, hang: str, workers: int) -> None:
    config = build_config(settings(model, rollout={"groups": 2, "group_size": 4, "environment_workers": workers}))
    marker = tmp_path / "hanging"
    process = start_alone(train_on_hanging_ice, config, tmp_path / "run", f"{hang} {marker}")
    try:
        deadline = time.monotonic() + 90
        while not marker.exists():
            assert process.is_alive() and time.monotonic() < deadline, "nothing hung"
            time.sleep(0.1)
        time.sleep(0.5)
        asked = time.monotonic()
        process.terminate()
        process.join(timeout=20)
        assert process.exitcode == EXIT_INTERRUPTED
        assert time.monotonic() - asked < 15
    finally:
        process.kill()
        process.join()
