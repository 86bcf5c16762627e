"""Resource use of a step on its machine: cores, memory, and the GPU if there is one. Read-only.

GPU utilisation comes from NVIDIA's management library (NVML), which is part of the driver: no package is needed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from pathlib import Path

import torch

Metrics = dict[str, float]
SAMPLE_SECONDS = 1.0
GB = 1e9
PAGE = os.sysconf("SC_PAGE_SIZE")


class MachineUse:
    """`measure()` returns the use since the previous call, or since creation."""

    def __init__(self, *, gpu: bool) -> None:
        self._gpu = GpuClock() if gpu and torch.cuda.is_available() else None
        self._before = self._now()

    def measure(self) -> Metrics:
        (wall, own, busy, total), before = self._now(), self._before
        self._before = (wall, own, busy, total)
        metrics = {
            "system/process_cpu_cores": (own - before[1]) / max(wall - before[0], 1e-9),
            "system/process_memory_peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GB,
            **_process_memory(),
            **_host_memory(),
        }
        if total > before[3]:
            metrics["system/host_cpu_share"] = (busy - before[2]) / (total - before[3])
        return metrics | (self._gpu.take() if self._gpu else {})

    def _now(self) -> tuple[float, float, float, float]:
        """Clock time, CPU time of this process and its ended children, and busy and total time of all cores."""
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        return time.monotonic(), own, *_cores()


def _cores() -> tuple[float, float]:
    """Busy and total ticks of all cores since boot; zeros where there is no `/proc`."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return 0.0, 0.0
    idle = sum(ticks[3:5])  # waiting for I/O counts as idle
    return float(sum(ticks) - idle), float(sum(ticks))


def _process_memory() -> Metrics:
    """What the process holds now; empty where there is no `/proc`."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return {}
    return {"system/process_memory_gb": pages * PAGE / GB}


def _host_memory() -> Metrics:
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        total, free = (1024 * float(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return {}
    return {"system/host_memory_share": 1 - free / total, "system/host_memory_gb": (total - free) / GB}


class GpuClock:
    """Samples utilisation once a second; `take()` returns the mean since the last call, and the peak memory."""

    def __init__(self) -> None:
        self._utilisation = _nvml()
        self._shares: list[float] = []
        if self._utilisation is not None:
            threading.Thread(target=self._sample, name="gpu-clock", daemon=True).start()

    def take(self) -> Metrics:
        free, total = torch.cuda.mem_get_info()
        metrics = {
            "system/gpu_memory_gb": torch.cuda.max_memory_allocated() / GB,
            "system/gpu_memory_share": 1 - free / total,
        }
        shares, self._shares = self._shares, []
        return metrics | ({"system/gpu_share": sum(shares) / len(shares)} if shares else {})

    def _sample(self) -> None:
        while (share := self._utilisation.share() if self._utilisation else None) is not None:
            self._shares.append(share)
            time.sleep(SAMPLE_SECONDS)


class _Rates(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Nvml:
    """The driver's counters for one device."""

    def __init__(self, library: ctypes.CDLL, device: ctypes.c_void_p) -> None:
        self.library = library
        self.device = device

    def share(self) -> float | None:
        """The recent utilisation, from 0 to 1; None if the driver does not report it."""
        rates = _Rates()
        if self.library.nvmlDeviceGetUtilizationRates(self.device, ctypes.byref(rates)) != 0:
            return None
        return float(rates.gpu) / 100


def _nvml() -> Nvml | None:
    """The device that torch uses, by its UUID: indices differ if only some devices are visible."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}".encode()
    device = ctypes.c_void_p()
    if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(device)) != 0:
        return None
    return Nvml(library, device)
