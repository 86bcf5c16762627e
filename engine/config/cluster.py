"""The processes of a run on Ray: how many samplers and learners, and how they share devices."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.section import Section

COLDEST, HOTTEST = 0.01, 2.0  # vLLM refuses temperatures above and silently raises those below, except 0


class ClusterConfig(Section):
    """Read by the ray backend only. `RAY_ADDRESS` names the cluster; without it one is started on this machine."""

    sampler: Literal["vllm", "torch"] = Field(
        "vllm",
        description="Inference engine. vllm, or torch: the local backend's sampler, for models that vLLM does not "
        "support.",
    )
    samplers: int = Field(1, ge=1, le=512, description="Sampler processes. Each plays its share of the trajectories.")
    tensor_parallel: int = Field(1, ge=1, le=64, description="GPUs per vLLM sampler (tensor parallelism).")
    learners: int = Field(
        1, ge=1, le=1024, description="Learner processes. Weights and optimizer state are sharded over them (FSDP2)."
    )
    environment_actors: int = Field(
        0,
        ge=0,
        le=1024,
        description="Ray actors that run environments. 0 runs them in the samplers. Each actor reserves one CPU and "
        "runs rollout.environment_workers environments at a time (at least one). Use it for environments that are "
        "slow or block.",
    )
    placement: Literal["disaggregated", "colocated"] = Field(
        "disaggregated",
        description="disaggregated: samplers and learners have separate devices. colocated: they take turns on the "
        "same GPUs, with the sampler asleep while the learner works. No effect without GPUs.",
    )
    device: Literal["auto", "cpu", "gpu"] = Field(
        "auto", description="Device of samplers and learners. auto: GPUs if the cluster has any."
    )
    weight_transfer: Literal["auto", "object_store", "nccl", "ipc"] = Field(
        "auto",
        description="How updated weights reach the samplers. nccl: GPU to GPU, for disaggregated placement. ipc: "
        "through the memory of the shared GPU, for colocated placement. object_store: through host memory, on any "
        "device. auto: nccl or ipc between vLLM and learners on GPUs, else object_store.",
    )
    memory_share: float = Field(
        0.5, gt=0, le=0.98, description="Share of GPU memory for vLLM. Lower it for colocated placement."
    )
    importance_cap: float = Field(
        2.0,
        ge=0,
        le=100,
        description="Cap of the truncated importance weights between learner and sampler, per token. They correct for "
        "numerical differences and for stale weights. 0 turns the correction off.",
    )
    overlap: bool = Field(
        False,
        description="Sample the next step while the learner trains on this one. Samples are then one update old, which "
        "importance weights correct for. Faster with separate devices.",
    )
    wait_minutes: float = Field(
        30.0,
        ge=0,
        le=100_000,
        description="How long to wait for devices, and for Ray after a failure, before giving up. 0: no limit.",
    )
    phase_minutes: float = Field(
        30.0,
        gt=0,
        le=100_000,
        description="A phase that takes longer counts as hung: stack traces and the cluster's state are recorded, and "
        "the run resumes from its last checkpoint.",
    )

    @model_validator(mode="after")
    def _check(self) -> ClusterConfig:
        if self.tensor_parallel > 1 and self.sampler == "torch":
            raise ValueError("tensor_parallel: the torch sampler has one device. Use 1, or the vllm sampler.")
        if self.tensor_parallel > 1 and self.device == "cpu":
            raise ValueError("tensor_parallel: it needs GPUs. Use 1, or device gpu.")
        if self.overlap and self.placement == "colocated":
            raise ValueError(
                "overlap: colocated samplers and learners take turns and cannot overlap. Use the disaggregated "
                "placement."
            )
        if self.placement == "colocated" and (self.learners != self.samplers or self.tensor_parallel > 1):
            raise ValueError(
                f"placement: colocated learners and samplers share devices one to one, but there are {self.learners} "
                f"learners and {self.samplers} samplers of {self.tensor_parallel} devices. Use the same number of "
                "each, with tensor_parallel 1, or the disaggregated placement."
            )
        self._check_weight_transfer()
        return self

    def _check_weight_transfer(self) -> None:
        method = self.weight_transfer
        if method in ("auto", "object_store"):
            return
        if self.sampler == "torch":
            raise ValueError(
                f"weight_transfer: {method} needs the vllm sampler. Use auto or object_store, or sampler vllm."
            )
        if self.device == "cpu":
            raise ValueError(f"weight_transfer: {method} needs GPUs. Use auto or object_store, or device gpu.")
        fit = "ipc" if self.placement == "colocated" else "nccl"
        if method != fit:
            why = (
                "NCCL does not run between two processes on one GPU"
                if method == "nccl"
                else "ipc needs both processes on one GPU"
            )
            raise ValueError(
                f"weight_transfer: {method} does not work with {self.placement} placement: {why}. Use {fit}."
            )

    def weight_transfer_method(self, *, gpus: bool) -> Literal["object_store", "nccl", "ipc"]:
        """The transfer that `weight_transfer` selects with or without GPUs; `ValueError` if it is impossible."""
        if self.weight_transfer != "auto":
            if self.weight_transfer != "object_store" and not gpus:
                raise ValueError(
                    f"weight_transfer: {self.weight_transfer} needs GPUs, and samplers and learners run on CPUs. "
                    "Use auto or object_store."
                )
            return self.weight_transfer
        if not gpus or self.sampler == "torch":
            return "object_store"
        return "ipc" if self.placement == "colocated" else "nccl"
