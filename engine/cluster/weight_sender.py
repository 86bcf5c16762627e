"""The learner's end of vLLM's weight-transfer API. The samplers' end is in `engine.policies.vllm_engine`.

With NCCL the driver coordinates the samplers, so that it notices at once when one of them dies; this end only joins and
sends. With IPC this end creates memory handles and passes them to the samplers itself.
"""

from __future__ import annotations

from typing import Any

from engine.cluster.connection import import_ray
from engine.policies.policy_weights import PolicyWeights
from engine.policies.vllm_installation import check_installation, set_up_environment
from engine.policies.vllm_start import restoring_environment

BUFFER_BYTES = 256 * 1024**2  # of GPU memory at each end; two of them with NCCL
FIRST_WORKER_RANK = 1  # the first sampler's first worker; the sender is rank 0


def nccl_link(host: str, port: int, *, workers: int) -> dict[str, Any]:
    """The settings both ends share; `workers` counts those of all samplers together."""
    return {
        "master_address": host,
        "master_port": port,
        "world_size": FIRST_WORKER_RANK + workers,
        "packed": True,
        "packed_buffer_size_bytes": BUFFER_BYTES,
        "packed_num_buffers": 2,
    }


def nccl_worker_link(link: dict[str, Any], sampler: int, *, tensor_parallel: int) -> dict[str, Any]:
    """For the sampler with this index. vLLM counts ranks within one engine, and each sampler is one."""
    return {**link, "rank_offset": FIRST_WORKER_RANK + sampler * tensor_parallel}


def open_nccl(weights: PolicyWeights, *, rank: int, link: dict[str, Any]) -> Any:
    """Returns when all samplers have joined. Every learner calls it, and the first one sends."""
    _set_up()
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo, NCCLTrainerWeightTransferEngine

    init = NCCLTrainerInitInfo(rank=rank, **link)
    return NCCLTrainerWeightTransferEngine.trainer_init(init, client=CoordinatedByDriver(), source=weights)


def open_ipc(weights: PolicyWeights, *, rank: int, samplers: list[Any]) -> Any:
    """Each learner shares its GPU with a sampler. The first one calls all samplers, with every learner's handles."""
    _set_up()
    from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo, IPCTrainerWeightTransferEngine

    init = IPCTrainerInitInfo(rank=rank, packed=True, packed_buffer_size_bytes=max(BUFFER_BYTES, weights.largest()))
    return IPCTrainerWeightTransferEngine.trainer_init(init, client=SamplerClient(samplers), source=weights)


class CoordinatedByDriver:
    """A client, in vLLM's sense, that does nothing: the driver calls the samplers."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """The driver calls `join_transfer` on the samplers while it calls the learners."""

    def start_weight_update(self) -> None:
        """Done before this learner was called."""

    def update_weights(self, update_info: Any) -> None:
        """The samplers were called when this learner was."""

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Called by the driver when both ends are done."""


class SamplerClient:
    """Calls all samplers, and waits for them."""

    def __init__(self, samplers: list[Any]) -> None:
        self.samplers = samplers

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self._call_all("join_transfer", init_info)

    def start_weight_update(self) -> None:
        self._call_all("start_update")

    def update_weights(self, update_info: Any) -> None:
        self._call_all("receive_update", update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._call_all("finish_update")

    def _call_all(self, method: str, *arguments: Any) -> None:
        import_ray().get([getattr(sampler, method).remote(*arguments) for sampler in self.samplers])


def _set_up() -> None:
    """vLLM in a process where it runs no model."""
    check_installation()
    set_up_environment()
    with restoring_environment():
        import vllm.distributed.weight_transfer  # noqa: F401
