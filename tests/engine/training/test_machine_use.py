"""What a step uses of its machine, as its metrics say it."""

from __future__ import annotations

import os
import time

import pytest
import torch

from engine.training.machine_use import MachineUse


def test_a_busy_process_uses_about_a_core_and_a_sleeping_one_none() -> None:
    use = MachineUse(gpu=False)
    time.sleep(0.3)
    asleep = use.measure()["system/process_cpu_cores"]
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    busy = use.measure()["system/process_cpu_cores"]
    assert asleep < busy
    assert 0 <= asleep < 0.5
    assert 0 < busy < 4


def test_shares_lie_between_nothing_and_everything() -> None:
    use = MachineUse(gpu=False)
    time.sleep(0.1)
    metrics = use.measure()
    for name in ("system/host_cpu_share", "system/host_memory_share"):
        assert 0 <= metrics[name] <= 1
    assert not any(name.startswith("system/gpu") for name in metrics)


def test_memory_of_the_process_is_what_it_holds_and_its_peak_stays() -> None:
    use = MachineUse(gpu=False)
    before = use.measure()
    assert 0.01 < before["system/process_memory_gb"] <= before["system/process_memory_peak_gb"] + 0.01
    block = bytearray(os.urandom(1) * 100_000_000)  # pages that are written are resident
    held = use.measure()
    assert held["system/process_memory_gb"] - before["system/process_memory_gb"] == pytest.approx(0.1, abs=0.02)
    del block
    after = use.measure()
    assert held["system/process_memory_gb"] - after["system/process_memory_gb"] == pytest.approx(0.1, abs=0.02)
    assert after["system/process_memory_peak_gb"] >= held["system/process_memory_gb"] - 0.01
    assert after["system/process_memory_gb"] < after["system/host_memory_gb"]


def test_a_measurement_takes_less_than_a_millisecond() -> None:
    use = MachineUse(gpu=False)
    started = time.process_time()
    for _ in range(200):
        use.measure()
    assert (time.process_time() - started) / 200 < 0.001


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
def test_a_gpu_tells_its_memory_and_how_busy_it_is() -> None:
    use = MachineUse(gpu=True)
    values = torch.ones(2048, 2048, device="cuda")
    until = time.monotonic() + 3
    while time.monotonic() < until:
        values = values @ values / 2048
    torch.cuda.synchronize()
    metrics = use.measure()
    assert metrics["system/gpu_memory_gb"] >= 0.016  # 2048 * 2048 values of four bytes
    assert 0 < metrics["system/gpu_memory_share"] < 1
    assert metrics["system/gpu_share"] > 0.3
