"""What each process of a test of sharded learners sends, and a way for weights to travel that a CPU has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from vllm.distributed.weight_transfer import WeightTransferEngineFactory
from vllm.distributed.weight_transfer.nccl_engine import NCCLWeightTransferEngine

from engine.policies.policy_weights import PolicyWeights
from engine.training.sharding import Sharded
from tests.engine.training.sharded_runs import new_learner

FILES = "files"


def send_to_file(rank: int, size: int, folder: Path, sections: dict[str, Any]) -> None:
    """One of `size` learners; the first one's weights, as they would be sent, are in `folder / "sent.pt"`."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=size)
    learner = new_learner(Sharded(), folder / "model", sections)
    weights = PolicyWeights(learner.model, torch.float32)
    sent = dict(weights)
    if rank == 0:
        torch.save({"sent": sent, "manifest": weights.manifest()}, folder / "sent.pt")
    dist.barrier()
    os._exit(0)  # gloo's threads hang in the interpreter's own end after tensors were gathered


class FileTransfer(NCCLWeightTransferEngine):
    """vLLM's own worker end, but for the wire: weights come from a file that stands in for NCCL."""

    def init_transfer_engine(self, init_info: Any) -> None:
        self.link = init_info

    def update_weights(self, update_info: dict[str, Any]) -> None:
        update = dict(update_info)
        weights = load_file(update.pop("file"))
        wanted = self.parse_update_info(update)
        self.model.load_weights([(name, weights[name]) for name in wanted.names])


def register() -> None:
    if FILES not in WeightTransferEngineFactory._registry:
        WeightTransferEngineFactory.register_engine(FILES, FileTransfer)
