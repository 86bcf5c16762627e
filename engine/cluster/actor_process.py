"""The process of an actor: its stack dumps, its location, the GPUs it sees and what it uses of them.

Torch is loaded only by the functions that need it: environment actors never load it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cpu_threads import limit_thread_spinning
from engine.process_snapshots import ActorLocation, dump_stacks_on_signal

if TYPE_CHECKING:
    from engine.training.machine_use import GpuClock

PR_SET_PDEATHSIG = 1  # prctl(2)


def set_up(name: str, stacks: Path, *, gpu: bool = True) -> None:
    """Prepares the process. On SIGUSR1 the stacks of all threads go to `stacks/<name>.txt`, whatever Python is
    doing."""
    if not gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # Ray shows all GPUs of a machine to an actor that requested none
    limit_thread_spinning()
    die_with_parent()
    dump_stacks_on_signal(stacks / f"{name}.txt")


def die_with_parent() -> None:
    """On Linux the kernel ends an actor together with its node's Ray. Left to itself it would notice only later, and
    could not be found by then: Ray's actors overwrite their environment with their names."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def location() -> ActorLocation:
    """Where this actor runs."""
    import ray

    context = ray.get_runtime_context()
    return ActorLocation(node=context.get_node_id(), pid=os.getpid(), name=context.get_actor_name() or "")


def use_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(max(1, threads))


def device() -> str:
    """`cuda` where Ray gave this actor GPUs (see `set_up`), else `cpu`."""
    import torch

    return "cuda" if torch.cuda.is_available() and os.environ.get("CUDA_VISIBLE_DEVICES", "x") != "" else "cpu"


def gpu_metrics() -> dict[str, float]:
    """This process's use of its GPU since the last call; empty on a CPU. The first call has no utilisation."""
    return _gpu_clock().take() if device() == "cuda" else {}


@cache
def _gpu_clock() -> GpuClock:
    from engine.training.machine_use import GpuClock

    return GpuClock()
