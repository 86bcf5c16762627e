"""What an interruption between two steps leaves undone is done by the next attempt."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from engine.config import RunConfig
from engine.events import Event
from engine.training.control import Control
from engine.training.run_directory import EventLog, RunDirectory, write_json
from engine.training.session import BACKENDS, EXIT_DONE, EXIT_INTERRUPTED, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config, steps_of

ENDS_AT_ONCE = {"name": "enough", "kind": "above", "metric": "rollout/turns", "limit": 0.0, "steps": 2}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def leaving_in(phase: str, step: int) -> Callable[[Event], None]:
    """A listener that sends SIGTERM as the phase begins."""

    def hear(event: Event) -> None:
        if event.kind == "phase_changed" and event.phase == phase and event.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return hear


def evaluated(directory: Path) -> list[tuple[int, bool]]:
    return [(event.step, event.final) for event in events_of(directory) if event.kind == "evaluation_completed"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, [(0, False), (2, False), (4, True)]),
        (2, [(0, False), (2, False), (4, True)]),
        (4, [(0, False), (2, False), (4, True)]),
    ],
)
def test_an_evaluation_that_was_left_is_made_by_the_next_attempt(
    model: Path, tmp_path: Path, step: int, expected: list[Any]
) -> None:
    config = run_config(model)
    assert train(config, tmp_path, sinks=[leaving_in("evaluation", step)]) == EXIT_INTERRUPTED
    assert train(config, tmp_path, resume=True) == EXIT_DONE
    assert evaluated(tmp_path) == expected
    assert sorted(steps_of(tmp_path)) == [1, 2, 3, 4]


def test_an_evaluation_that_was_made_is_not_made_again(model: Path, tmp_path: Path) -> None:
    config = run_config(model)
    assert train(config, tmp_path, sinks=[leaving_in("rollout", 3)]) == EXIT_INTERRUPTED
    assert train(config, tmp_path, resume=True) == EXIT_DONE
    assert evaluated(tmp_path) == [(0, False), (2, False), (4, True)]


@pytest.mark.parametrize("action", ["stop", "checkpoint"])
def test_a_run_that_a_rule_ended_stays_ended_when_it_is_interrupted_in_its_last_evaluation(
    model: Path, tmp_path: Path, action: str
) -> None:
    rules = [{**ENDS_AT_ONCE, "action": "stop"}]
    if action == "checkpoint":  # a rule of the same step that saves before the evaluation
        rules.append({**ENDS_AT_ONCE, "name": "keep", "action": "checkpoint"})
    config = run_config(model, detectors={"rules": rules}, evaluation={"every": 0, "final_episodes": 4})
    assert train(config, tmp_path, sinks=[leaving_in("evaluation", 2)]) == EXIT_INTERRUPTED
    assert train(config, tmp_path, resume=True) == EXIT_DONE
    assert sorted(steps_of(tmp_path)) == [1, 2]
    assert evaluated(tmp_path)[-1] == (2, True)
    assert events_of(tmp_path)[-1].outcome == "collapsed"


def test_a_run_that_a_rule_ended_can_be_trained_on(model: Path, tmp_path: Path) -> None:
    rules = [{**ENDS_AT_ONCE, "action": "stop"}]
    config = run_config(model, detectors={"rules": rules})
    assert train(config, tmp_path) == EXIT_DONE
    without = config.model_copy(update={"detectors": config.detectors.model_copy(update={"rules": ()})})
    assert train(without, tmp_path, resume=True) == EXIT_DONE
    assert sorted(steps_of(tmp_path)) == [1, 2, 3, 4]
    assert events_of(tmp_path)[-1].outcome == "completed"


def test_a_stop_while_the_run_waits_to_be_loaded_is_a_stop_and_no_failure(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait_for_room(
        config: RunConfig, found: Path | None, directory: RunDirectory, events: EventLog, control: Control
    ) -> NoReturn:
        """As a run on Ray waits for GPUs that others have."""
        while True:
            control.check_cancelled()
            time.sleep(0.05)

    monkeypatch.setitem(BACKENDS, "local", wait_for_room)
    write_json(tmp_path / "control.json", {"request": "stop", "checkpoint": 0, "epoch": 0})
    assert train(run_config(model), tmp_path) == EXIT_DONE
    [end] = events_of(tmp_path)
    assert (end.kind, end.outcome, end.reason) == ("run_finished", "stopped", "Stopped before the model was loaded.")
