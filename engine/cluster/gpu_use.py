"""What the actors of a run use of their GPUs, by role: how each tells its own, and how a step's metrics sum them up."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cache

from engine.cluster.actor_device import device
from engine.training.machine_use import GpuClock, Metrics

MEANS = frozenset({"perf/gpu_share"})  # of the others the most is told: one device that is full ends the run


def gpu_use() -> Metrics:
    """Of this process since it was asked before; nothing on a CPU, and no share of time at the first call."""
    return _clock().take() if device() == "cuda" else {}


@cache
def _clock() -> GpuClock:
    return GpuClock()


def by_role(role: str, uses: Sequence[Metrics]) -> Metrics:
    """`perf/gpu_share/learner` and the like, over the processes of a role."""
    names = sorted({name for use in uses for name in use})
    values = {name: [use[name] for use in uses if name in use] for name in names}
    return {f"{name}/{role}": statistics.fmean(of) if name in MEANS else max(of) for name, of in values.items()}
