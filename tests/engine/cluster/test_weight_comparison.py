"""A sampler that keeps its old weights is detected, however little the new ones differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from torch import Tensor

from engine.cluster import actors
from engine.cluster.sampler_actor import SamplerActor
from engine.events import RunFailed, StepCompleted
from engine.training.session import EXIT_FAILED, train
from tests.engine.cluster.runs import events, needs_ray, ray_config

pytestmark = [pytest.mark.slow, needs_ray]
LITTLE = {"learning_rate": 1e-6, "updates_per_step": 1}  # a step moves a log-probability by far less than 0.01


class StaleSampler(SamplerActor):
    def load(self, weights: Mapping[str, Tensor]) -> float:
        return 0.0


def test_a_sampler_that_loads_no_weights_ends_the_run_at_the_first_update(
    tmp_path: Path, ray_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    monkeypatch.setattr(actors, "SamplerActor", StaleSampler)
    assert train(ray_config(optimizer=LITTLE, diagnostics={"every": 0}), tmp_path) == EXIT_FAILED
    recorded = events(tmp_path)
    (failed,) = [event for event in recorded if isinstance(event, RunFailed)]
    assert failed.error == "ModelError" and not failed.retryable
    assert "sampler 0 does not hold the learner's weights" in failed.message and "weight_transfer" in failed.remedy
    assert not [event for event in recorded if isinstance(event, StepCompleted)]
