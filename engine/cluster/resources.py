"""The resources a run needs of a cluster, and the GPUs of this machine. No Ray and no torch: the launch form uses
it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from engine.config import ClusterConfig

Bundle = dict[str, float]
NVIDIA_SMI_SECONDS = 5.0
MIB = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Bundles of CPUs and GPUs, granted together or not at all. Each role has indices into `bundles`; samplers and
    learners share theirs when colocated."""

    bundles: list[Bundle]
    samplers: list[int]
    learners: list[int]
    environments: list[int]
    sampler_gpus: float
    learner_gpus: float

    @property
    def cpus(self) -> int:
        return round(sum(bundle.get("CPU", 0) for bundle in self.bundles))

    @property
    def gpus(self) -> int:
        return round(sum(bundle.get("GPU", 0) for bundle in self.bundles))

    def describe_missing(self, free: Bundle, total: Bundle) -> str:
        """For example `needs 4 GPUs, 2 free of 8`."""
        parts = []
        for name, needed in (("GPU", self.gpus), ("CPU", self.cpus)):
            available = int(free.get(name, 0))
            if needed > available:
                plural = "s" if needed != 1 else ""
                parts.append(f"needs {needed} {name}{plural}, {available} free of {int(total.get(name, 0))}")
        return "; ".join(parts) or f"needs {len(self.bundles)} bundles together, and the free resources are fragmented"


def required_resources(config: ClusterConfig, *, gpus: bool) -> Resources:
    """One bundle for each sampler and learner; colocated, each pair shares a bundle and its GPU. Each environment actor
    has a CPU and never a GPU."""
    environments: list[Bundle] = [{"CPU": 1} for _ in range(config.environment_actors)]
    unit: Bundle = {"CPU": 1, "GPU": 1} if gpus else {"CPU": 1}
    if config.placement == "colocated":
        shared: Bundle = {**unit, "CPU": 2}
        pairs = list(range(config.learners))
        half = 0.5 if gpus else 0.0
        return Resources(
            bundles=[dict(shared) for _ in pairs] + environments,
            samplers=pairs,
            learners=pairs,
            environments=_indices_after(pairs, environments),
            sampler_gpus=half,
            learner_gpus=half,
        )
    wide: Bundle = {"CPU": 1, "GPU": config.tensor_parallel} if gpus else {"CPU": 1}
    models = range(config.samplers + config.learners)
    return Resources(
        bundles=[dict(wide if index < config.samplers else unit) for index in models] + environments,
        samplers=list(models[: config.samplers]),
        learners=list(models[config.samplers :]),
        environments=_indices_after(models, environments),
        sampler_gpus=config.tensor_parallel if gpus else 0.0,
        learner_gpus=1.0 if gpus else 0.0,
    )


def _indices_after(indices: Sequence[int], bundles: Sequence[Bundle]) -> list[int]:
    return list(range(len(indices), len(indices) + len(bundles)))


def local_gpu_memory() -> tuple[int, ...]:
    """Bytes of memory of each NVIDIA GPU that this process may use, by `nvidia-smi`; empty where none is found."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    found = _query_nvidia_smi(shutil.which("nvidia-smi") or "")
    if visible is None:
        return tuple(memory for _, _, memory in found)
    names = [name.strip() for name in visible.split(",") if name.strip()]
    return tuple(
        memory
        for name in names
        for index, uuid, memory in found
        if name == index or (name.startswith("GPU-") and uuid.startswith(name))
    )


@cache
def _query_nvidia_smi(tool: str) -> tuple[tuple[str, str, int], ...]:
    """Index, UUID and bytes of each GPU."""
    if not tool:
        return ()
    command = [tool, "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=NVIDIA_SMI_SECONDS, check=True)
        lines = [line.split(", ") for line in done.stdout.splitlines()]
        return tuple((index, uuid, int(memory) * MIB) for index, uuid, memory in lines)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()
