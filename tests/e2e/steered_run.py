"""A run for tests of its controls: twenty steps on the lake, with checkpoints at 10 and 20."""

from __future__ import annotations

from engine.config import EnvironmentConfig
from tests.builders.recorded_run import RecordedRun
from webapp.environments.services import define

PATIENCE = 30_000  # ms; the test machine may be busy


def steered_run(steps: int) -> RecordedRun:
    """A run with a target of `steps`; events after the twentieth step are delivered by the test."""
    version = define(name="Lake", config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "tag": "Lake"}))
    recorded = RecordedRun(steps=steps, version=version)
    for _ in range(2):
        recorded.take_steps(10)
        name = f"checkpoints/step_{recorded.step}"
        (recorded.run.directory / name).mkdir(parents=True)
        (recorded.run.directory / name / "manifest.json").write_text("{}")
        recorded.emit("checkpoint_saved", path=name, bytes=1, reason="schedule")
    return recorded
