"""The GPU metrics of a run's actors, aggregated by role, and those of each device."""

from __future__ import annotations

import pytest
import torch

from engine.cluster.actor_process import gpu_metrics
from engine.cluster.actors import gpu_metrics_by_role


def test_a_role_reports_mean_utilisation_and_the_largest_memory_use() -> None:
    busy = {"system/gpu_share": 0.9, "system/gpu_memory_gb": 100.0, "system/gpu_memory_share": 0.2}
    idle = {"system/gpu_share": 0.1, "system/gpu_memory_gb": 300.0, "system/gpu_memory_share": 0.7}
    assert gpu_metrics_by_role("learner", [busy, idle]) == {
        "system/gpu_share/learner": 0.5,
        "system/gpu_memory_gb/learner": 300.0,
        "system/gpu_memory_share/learner": 0.7,
        **{f"{name}/device/learner_0": value for name, value in busy.items()},
        **{f"{name}/device/learner_1": value for name, value in idle.items()},
    }


def test_an_actor_without_utilisation_is_left_out_of_the_mean() -> None:
    assert gpu_metrics_by_role("sampler", [{}, {"system/gpu_share": 0.4}]) == {
        "system/gpu_share/sampler": 0.4,
        "system/gpu_share/device/sampler_1": 0.4,
    }
    assert gpu_metrics_by_role("sampler", [{}, {}]) == {}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_there_are_no_metrics_without_a_gpu() -> None:
    assert gpu_metrics() == {}
