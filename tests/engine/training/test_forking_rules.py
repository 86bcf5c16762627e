"""A rule that asks for a fork, and rules over held-out evaluations, in real runs of an engine alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from engine.events import Event
from engine.training.session import EXIT_DONE, EXIT_INTERRUPTED, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import events_of, run_config

ALWAYS = {"name": "always", "kind": "above", "metric": "rollout/turns", "limit": 0.0, "steps": 2}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def checkpoints_of(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "checkpoints").glob("step_*"))


def test_an_engine_alone_ends_at_a_fork_and_says_what_a_site_would_do(model: Path, tmp_path: Path) -> None:
    rules = {"rules": [{**ALWAYS, "action": "fork"}]}
    config = run_config(model, detectors=rules, evaluation={"every": 0, "at_start": False, "final_episodes": 4})
    assert train(config, tmp_path) == EXIT_DONE
    last = events_of(tmp_path)[-1]
    assert (last.kind, last.step, last.outcome, last.fork_before) == ("run_finished", 2, "collapsed", 1)
    assert "without a site the run only ends" in last.reason
    assert [event.since for event in events_of(tmp_path) if event.kind == "alert_raised"] == [1]


def test_the_checkpoint_before_the_trouble_is_spared_though_newer_ones_are_enough(model: Path, tmp_path: Path) -> None:
    # the seconds of a save are recorded with the next step, so 2 and 3 are breached; with two to keep, 3 would remove 1
    forks = {**ALWAYS, "metric": "time/checkpoint", "action": "fork"}
    quiet = {"every": 0, "at_start": False, "final_episodes": 4}
    config = run_config(model, detectors={"rules": [forks]}, evaluation=quiet, checkpoint={"every": 1, "keep": 2})
    assert train(config, tmp_path) == EXIT_DONE
    assert events_of(tmp_path)[-1].fork_before == 2
    assert checkpoints_of(tmp_path) == ["step_1", "step_2", "step_3"]


def test_a_fork_is_still_asked_for_by_an_attempt_after_an_interruption(model: Path, tmp_path: Path) -> None:
    def leave(event: Event) -> None:
        if event.kind == "phase_changed" and event.phase == "evaluation" and event.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    rules = {"rules": [{**ALWAYS, "action": "fork"}]}
    config = run_config(model, detectors=rules, evaluation={"every": 0, "at_start": False, "final_episodes": 4})
    assert train(config, tmp_path, sinks=[leave]) == EXIT_INTERRUPTED
    assert train(config, tmp_path, resume=True) == EXIT_DONE
    assert events_of(tmp_path)[-1].fork_before == 1


def test_a_held_out_rule_speaks_at_its_evaluation_and_the_run_ends_with_a_last_one(model: Path, tmp_path: Path) -> None:
    held = {"name": "held", "kind": "above", "metric": "eval/success", "limit": -1.0, "steps": 2, "action": "stop"}
    evaluation = {"every": 1, "at_start": True, "episodes": 2, "final_episodes": 4}
    assert train(run_config(model, detectors={"rules": [held]}, evaluation=evaluation), tmp_path) == EXIT_DONE
    events = events_of(tmp_path)
    [alert] = [event for event in events if event.kind == "alert_raised"]
    assert (alert.step, alert.metric, alert.since) == (1, "eval/success", 0)
    recorded = [(event.step, event.episodes, event.final) for event in events if event.kind == "evaluation_completed"]
    assert recorded == [(0, 2, False), (1, 2, False), (1, 4, True)]
    assert (events[-1].step, events[-1].outcome) == (1, "collapsed")


def test_a_last_evaluation_can_only_tell(model: Path, tmp_path: Path) -> None:
    held = {"name": "held", "kind": "above", "metric": "eval/success", "limit": -1.0, "steps": 1, "action": "pause"}
    evaluation = {"every": 0, "at_start": False, "final_episodes": 4}
    assert train(run_config(model, detectors={"rules": [held]}, evaluation=evaluation), tmp_path) == EXIT_DONE
    events = events_of(tmp_path)
    assert [event.action for event in events if event.kind == "alert_raised"] == ["notify"]
    assert events[-1].outcome == "completed"
