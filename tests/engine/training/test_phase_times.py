"""The time of a step's phases: no second counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.training import rollouts, trainer
from engine.training.control import Control
from engine.training.run_directory import EventLog, RunDirectory
from engine.training.session import prepare
from tests.engine.training.test_rollouts import SYNC, Clock
from tests.engine.training.test_runs import events_of, model, run_config

__all__ = ["model"]


def test_a_weight_sync_does_not_count_in_the_phase_around_it(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    for module in (rollouts, trainer):
        monkeypatch.setattr(module, "time", clock)
    config = run_config(model, steps=2)
    events = EventLog(tmp_path / "events.jsonl", attempt=1, epoch=0)
    training = prepare(
        config, RunDirectory(tmp_path), events, Control(tmp_path / "control.json", epoch=0), resume=False
    )

    def sync() -> None:
        clock.now += SYNC

    monkeypatch.setattr(training.backend, "sync_weights", sync)
    training.run()
    recorded = [event.metrics for event in events_of(tmp_path) if event.kind == "step_completed"]
    assert [metrics["time/step"] for metrics in recorded] == [SYNC, SYNC]
    assert [(metrics["time/rollout"], metrics["time/update"]) for metrics in recorded] == [(0.0, 0.0), (0.0, 0.0)]
