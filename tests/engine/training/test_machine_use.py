"""What a step uses of its machine, as its metrics say it."""

from __future__ import annotations

import time

import pytest
import torch

from engine.training.machine_use import MachineUse


def test_a_busy_process_uses_about_a_core_and_a_sleeping_one_none() -> None:
    use = MachineUse(gpu=False)
    time.sleep(0.3)
    asleep = use.measure()["perf/cpu_cores"]
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    busy = use.measure()["perf/cpu_cores"]
    assert asleep < busy
    assert 0 <= asleep < 0.5
    assert 0 < busy < 4


def test_shares_lie_between_nothing_and_everything() -> None:
    use = MachineUse(gpu=False)
    time.sleep(0.1)
    metrics = use.measure()
    assert metrics["perf/memory_mb"] > 10
    for name in ("perf/host_cpu_share", "perf/host_memory_share"):
        assert 0 <= metrics[name] <= 1
    assert not any(name.startswith("perf/gpu") for name in metrics)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
def test_a_gpu_tells_its_memory_and_how_busy_it_is() -> None:
    use = MachineUse(gpu=True)
    values = torch.ones(2048, 2048, device="cuda")
    until = time.monotonic() + 3
    while time.monotonic() < until:
        values = values @ values / 2048
    torch.cuda.synchronize()
    metrics = use.measure()
    assert metrics["perf/gpu_memory_mb"] >= 16  # 2048 * 2048 values of four bytes
    assert 0 < metrics["perf/gpu_memory_share"] < 1
    assert metrics["perf/gpu_share"] > 0.3
