"""What the actors of a run use of their GPUs, summed up by role."""

from __future__ import annotations

import pytest
import torch

from engine.cluster.gpu_use import by_role, gpu_use


def test_of_a_role_the_mean_share_of_time_is_told_and_the_fullest_memory() -> None:
    busy = {"perf/gpu_share": 0.9, "perf/gpu_memory_mb": 100.0, "perf/gpu_memory_share": 0.2}
    idle = {"perf/gpu_share": 0.1, "perf/gpu_memory_mb": 300.0, "perf/gpu_memory_share": 0.7}
    assert by_role("learner", [busy, idle]) == {
        "perf/gpu_share/learner": 0.5,
        "perf/gpu_memory_mb/learner": 300.0,
        "perf/gpu_memory_share/learner": 0.7,
    }


def test_one_that_cannot_tell_its_share_of_time_is_left_out_of_the_mean() -> None:
    assert by_role("sampler", [{"perf/gpu_share": 0.4}, {}]) == {"perf/gpu_share/sampler": 0.4}
    assert by_role("sampler", [{}, {}]) == {}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_told() -> None:
    assert gpu_use() == {}
