"""Where a run has its parts when it is more than one process: how many of what, and how they share machines."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.section import Section

COLDEST, HOTTEST = 0.01, 2.0  # vLLM refuses what is above and silently raises what is below, but for 0


class ClusterConfig(Section):
    """Only with the ray backend. `RAY_ADDRESS` names the cluster; without it one is started on this machine."""

    sampler: Literal["vllm", "torch"] = Field(
        "vllm", description="What samples: vllm, or torch, the local backend's own sampler, for models vLLM lacks."
    )
    samplers: int = Field(1, ge=1, le=512, description="Sampler processes; each plays its share of the trajectories.")
    tensor_parallel: int = Field(
        1, ge=1, le=64, description="GPUs that one vLLM sampler splits the model over. Needs GPUs."
    )
    learners: int = Field(
        1, ge=1, le=1024, description="Learner processes. Weights and optimiser are sharded over them (FSDP2)."
    )
    environment_actors: int = Field(
        0,
        ge=0,
        le=1024,
        description="Ray actors that play environments, 0: beside the samplers. Each has a processor and plays as many "
        "at a time as rollout.environment_workers says (at least one). For environments that are slow or block.",
    )
    placement: Literal["disaggregated", "colocated"] = Field(
        "disaggregated",
        description="disaggregated: samplers and learners have devices of their own. colocated: they take turns on "
        "the same ones, the sampler asleep while the learner works. Without GPUs there is nothing to share.",
    )
    device: Literal["auto", "cpu", "gpu"] = Field(
        "auto", description="What samplers and learners run on. auto: GPUs where the cluster has any."
    )
    weight_transfer: Literal["auto", "object_store", "nccl", "ipc"] = Field(
        "auto",
        description="How new weights get to the samplers. nccl: from GPU to GPU, for the disaggregated placement. ipc: "
        "out of the memory of the GPU that both share, for the colocated one. object_store: through the machines' "
        "memory, on any device. auto: nccl or ipc between vLLM and learners on GPUs, else object_store.",
    )
    memory_share: float = Field(
        0.5, gt=0, le=0.98, description="Share of a GPU's memory that vLLM takes. Less when colocated, more when alone."
    )
    importance_cap: float = Field(
        2.0,
        ge=0,
        le=100,
        description="A token counts by how much likelier the learner finds it than the sampler did, up to this much "
        "(truncated importance weights). Corrects what the two compute differently. 0 turns it off.",
    )
    overlap: bool = Field(
        False,
        description="Sample the next step's trajectories while this step's are learned from: they are one update "
        "behind, which importance weights correct. Faster where samplers and learners have devices of their own.",
    )
    wait_minutes: float = Field(
        30.0,
        ge=0,
        le=100_000,
        description="How long to wait for devices, and after a fault for Ray itself, before giving up. 0: for ever.",
    )
    phase_minutes: float = Field(
        30.0,
        gt=0,
        le=100_000,
        description="A phase that takes longer counts as hanging: stacks and the cluster's state are written down, and "
        "the run goes on from its last checkpoint.",
    )

    @model_validator(mode="after")
    def _check(self) -> ClusterConfig:
        if self.tensor_parallel > 1 and self.sampler == "torch":
            raise ValueError("tensor_parallel: the torch sampler has one device. Use 1, or the vllm sampler.")
        if self.tensor_parallel > 1 and self.device == "cpu":
            raise ValueError("tensor_parallel: it splits a model over GPUs. Use 1, or device gpu.")
        if self.overlap and self.placement == "colocated":
            raise ValueError(
                "overlap: what takes turns on the same devices cannot work at the same time. Use the disaggregated "
                "placement."
            )
        if self.placement == "colocated" and (self.learners != self.samplers or self.tensor_parallel > 1):
            raise ValueError(
                f"placement: colocated learners and samplers share devices one to one, and there are {self.learners} "
                f"learners and {self.samplers} samplers of {self.tensor_parallel} devices. Make them equal, with "
                "tensor_parallel 1, or use the disaggregated placement."
            )
        self._check_weight_transfer()
        return self

    def _check_weight_transfer(self) -> None:
        way = self.weight_transfer
        if way in ("auto", "object_store"):
            return
        if self.sampler == "torch":
            raise ValueError(f"weight_transfer: {way} is vLLM's own. Use auto or object_store, or the vllm sampler.")
        if self.device == "cpu":
            raise ValueError(f"weight_transfer: {way} is between GPUs. Use auto or object_store, or device gpu.")
        fit = "ipc" if self.placement == "colocated" else "nccl"
        if way != fit:
            why = (
                "NCCL takes no two processes on one GPU"
                if way == "nccl"
                else "a process cannot read the memory of another's GPU"
            )
            raise ValueError(
                f"weight_transfer: {way} does not go with the {self.placement} placement: {why}. Use {fit}."
            )

    def resolve_weight_transfer(self, *, gpus: bool) -> Literal["object_store", "nccl", "ipc"]:
        """What `weight_transfer` comes to on a cluster with or without GPUs; `ValueError` where it cannot be done."""
        if self.weight_transfer != "auto":
            if self.weight_transfer != "object_store" and not gpus:
                raise ValueError(
                    f"weight_transfer: {self.weight_transfer} is between GPUs, and samplers and learners run on CPUs "
                    "here. Use auto or object_store."
                )
            return self.weight_transfer
        if not gpus or self.sampler == "torch":
            return "object_store"
        return "ipc" if self.placement == "colocated" else "nccl"
