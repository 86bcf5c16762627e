"""Which failures of a run are retryable: those of the infrastructure, and never those that its user caused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config import build_config
from engine.environments.registry import ENVIRONMENTS
from engine.errors import RetryableFault
from engine.event_lines import parse_event
from engine.events import Event, RunFailed
from engine.training.session import EXIT_FAILED, train
from tests.engine.models import save_small_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def failure_of(model: Path, directory: Path, *sinks: Any, **changes: Any) -> RunFailed:
    lake = {"kind": "frozen_lake", "max_response_tokens": 8, "max_turns": 2}
    base = {"steps": 2, "threads": 1, "model": {"path": str(model)}, "environments": [lake]}
    small = {"rollout": {"groups": 2, "group_size": 2}, "evaluation": {"at_start": False, "final_episodes": 2}}
    config = build_config({**base, **small, **changes})
    assert train(config, directory, sinks=list(sinks)) == EXIT_FAILED
    last = parse_event((directory / "events.jsonl").read_bytes().splitlines()[-1])
    assert isinstance(last, RunFailed)
    return last


def lose_a_node(event: Event) -> None:
    if event.kind == "step_completed":
        raise RetryableFault("A node is gone.", remedy="See that the cluster is well.")


def test_what_broke_under_the_run_is_retryable(model: Path, tmp_path: Path) -> None:
    failed = failure_of(model, tmp_path, lose_a_node)
    assert (failed.error, failed.message, failed.retryable) == ("RetryableFault", "A node is gone.", True)
    assert failed.remedy == "See that the cluster is well."


def test_what_the_user_caused_is_not(model: Path, tmp_path: Path) -> None:
    far = {"kind": "sokoban", "parameters": {"boxes": 3, "rows": 8, "columns": 8, "depth": 30}, "max_actions": 1}
    assert not failure_of(model, tmp_path / "config", environments=[far]).retryable
    assert not failure_of(Path("/no/such/model"), tmp_path / "model").retryable


def test_an_environment_that_exits_ends_the_run_with_a_word_and_is_not_retryable(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.training.faulty:LeavingLake")
    failed = failure_of(model, tmp_path)
    assert (failed.error, failed.retryable) == ("EnvironmentFault", False)
    assert "raised in reset" in failed.message and "SystemExit: the ice broke" in failed.message


def test_a_failure_from_before_there_was_the_word_is_not_retryable() -> None:
    head = '"kind": "run_failed", "seq": 1, "time": 1.0, "attempt": 1, "epoch": 0, "step": 0'
    event = parse_event(f'{{{head}, "error": "X", "message": ""}}')
    assert isinstance(event, RunFailed) and not event.retryable
