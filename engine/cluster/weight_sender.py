"""A learner's end of vLLM's weight-transfer API. The samplers' end is in `engine.policies.vllm_engine`.

By NCCL the driver tells the samplers what to do, so that it sees at once when one of them is gone; this end only joins
and sends. By IPC it is handles that travel, which this end makes and hands to the samplers itself.
"""

from __future__ import annotations

from typing import Any

from engine.cluster.connection import import_ray
from engine.policies.policy_weights import PolicyWeights
from engine.policies.vllm_installation import check_installation, set_up_environment
from engine.policies.vllm_start import undoing_what_vllm_changes

BUFFER_BYTES = 256 * 1024**2  # of GPU memory, twice by NCCL, at each end
SENDER = 1  # rank of the first sampler's first worker; the sender itself is 0


def nccl_link(host: str, port: int, *, workers: int) -> dict[str, Any]:
    """What both ends must agree on; `workers` is of all samplers together."""
    return {
        "master_address": host,
        "master_port": port,
        "world_size": SENDER + workers,
        "packed": True,
        "packed_buffer_size_bytes": BUFFER_BYTES,
        "packed_num_buffers": 2,
    }


def nccl_worker_link(link: dict[str, Any], place: int, *, tensor_parallel: int) -> dict[str, Any]:
    """For the sampler at `place`: vLLM counts ranks within one engine, and each sampler is one."""
    return {**link, "rank_offset": SENDER + place * tensor_parallel}


def open_nccl(weights: PolicyWeights, *, rank: int, link: dict[str, Any]) -> Any:
    """Returns when all samplers have joined; every learner calls it, and the first one sends."""
    _set_up()
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo, NCCLTrainerWeightTransferEngine

    init = NCCLTrainerInitInfo(rank=rank, **link)
    return NCCLTrainerWeightTransferEngine.trainer_init(init, client=ToldByTheDriver(), source=weights)


def open_ipc(weights: PolicyWeights, *, rank: int, samplers: list[Any]) -> Any:
    """Each learner shares its GPU with a sampler; the first one asks all of them, with everybody's handles."""
    _set_up()
    from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo, IPCTrainerWeightTransferEngine

    init = IPCTrainerInitInfo(rank=rank, packed=True, packed_buffer_size_bytes=max(BUFFER_BYTES, weights.largest()))
    return IPCTrainerWeightTransferEngine.trainer_init(init, client=ToSamplers(samplers), source=weights)


class ToldByTheDriver:
    """What vLLM calls a client, where the samplers hear everything from elsewhere."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """The driver asks them to join while it asks the learners."""

    def start_weight_update(self) -> None:
        """Done before this learner was asked to send."""

    def update_weights(self, update_info: Any) -> None:
        """They were asked to receive when this learner was asked to send."""

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """When both ends have said that they are done."""


class ToSamplers:
    """Asks all samplers, and waits for them."""

    def __init__(self, samplers: list[Any]) -> None:
        self.samplers = samplers

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self._all("join_transfer", init_info)

    def start_weight_update(self) -> None:
        self._all("start_update")

    def update_weights(self, update_info: Any) -> None:
        self._all("take_update", update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._all("finish_update")

    def _all(self, method: str, *given: Any) -> None:
        import_ray().get([getattr(sampler, method).remote(*given) for sampler in self.samplers])


def _set_up() -> None:
    """vLLM in a process where it runs no model."""
    check_installation()
    set_up_environment()
    with undoing_what_vllm_changes():
        import vllm.distributed.weight_transfer  # noqa: F401
