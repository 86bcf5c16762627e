"""What each of two learners does with checkpoints that both write; the tests look at the files and at what it found."""

from __future__ import annotations

import shutil
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from engine.config import RunConfig
from engine.training import checkpoint
from engine.training.background_save import BackgroundShardSaves
from engine.training.checkpoint_folder import is_valid
from engine.training.checkpoint_state import Progress
from engine.training.learner import Learner
from engine.training.learner_state import with_leaves
from engine.training.sharded_state import CopiedShards, LiveShards, bytes_of_shards
from engine.training.sharding import Sharded
from tests.engine.training.builders import made_up_batch, update
from tests.engine.training.materialized_shards import LORA, config_of
from tests.engine.training.together import meet, report

ALWAYS = {"background": "always"}
CASES: dict[str, dict[str, Any]] = {
    "plain": {"algorithm": {"type": "grpo"}},
    "critic and average": {"optimizer": {"ema_decay": 0.9}},
    "adapter and average": {"algorithm": {"type": "grpo"}, "model": {"lora": LORA}, "optimizer": {"ema_decay": 0.9}},
    "adapter and critic": {"model": {"lora": LORA}},
}


def work(rank: int, folder: Path, disk: Path | None) -> None:
    """`disk` is a small one, if one could be mounted."""
    torch.set_num_threads(1)
    meet(rank, 2, folder)
    found: dict[str, Any] = {}
    for case, sections in CASES.items():
        found[case] = save_both_ways(folder / case, config_of(folder / "model", checkpoint=ALWAYS, **sections))
    save_whole_ones(folder)
    if disk is not None:
        found["full disk"] = [fail_and_write_again(folder, disk, live=live) for live in (True, False)]
    report(found, folder)


def load(config: RunConfig) -> tuple[Any, Learner]:
    torch.manual_seed(3)
    tokenizer, learner, _ = checkpoint.load_learner(config, None, device="cpu", share=Sharded(), warn=lambda _: None)
    update(learner, made_up_batch((6, 9, 12, 4)))
    return tokenizer, learner


def background(learner: Learner, tokenizer: Any, export_model: Any = None) -> BackgroundShardSaves:
    return BackgroundShardSaves(learner, tokenizer, export_model=export_model, patience=timedelta(seconds=60))


def save_both_ways(folder: Path, config: RunConfig) -> dict[str, Any]:
    """Waiting, then from a copy while training goes on. The bytes of the copy, and those that were asked for."""
    tokenizer, learner = load(config)
    checkpoint.save_sharded(folder / "waiting", tokenizer, LiveShards(learner, Progress(step=1)))
    saves = background(learner, tokenizer)
    write = saves.start(folder / "background", Progress(step=1))
    assert write is not None
    for seed in (1, 2):
        update(learner, made_up_batch((6, 9, 12, 4), seed=seed))  # its collective operations meet those of the write
    write.result()
    copy = CopiedShards(learner, Progress(), saves.mesh)
    tensors = [weight for model in (copy.model, copy._averaged) if model is not None for weight in model.parameters()]
    tensors += list(copy._tensors.values())
    return {"copied": bytes_held(tensors, beside=learner), "asked for": bytes_of_shards(learner)}


def bytes_held(tensors: list[Tensor], *, beside: Learner) -> int:
    """Of memory that is not the learner's own, each part once."""
    held: list[Tensor] = list(beside.model.parameters())
    with_leaves(beside.state_dict(), lambda _, leaf: held.append(leaf) if isinstance(leaf, Tensor) else None)
    own = {address_of(tensor) for tensor in held}
    sizes = {address_of(tensor): shard_of(tensor).nbytes for tensor in tensors}
    return sum(size for address, size in sizes.items() if address not in own)


def address_of(tensor: Tensor) -> int:
    return shard_of(tensor).data_ptr()


def shard_of(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def save_whole_ones(folder: Path) -> None:
    """From a whole model that gets the weights of the shards, as if the model's files had other names."""
    config = config_of(folder / "model", algorithm={"type": "grpo"}, checkpoint=ALWAYS)
    tokenizer, learner = load(config)
    whole_model = None
    if learner.share.rank == 0:
        whole_model, _ = checkpoint.load_policy(config, None, device="cpu")
    write = background(learner, tokenizer, whole_model).start(folder / "plain/exported", Progress(step=1))
    assert write is not None
    write.result()


def fail_and_write_again(folder: Path, disk: Path, *, live: bool) -> dict[str, Any]:
    """A disk with room for half a model is full while the first learner writes; once there is room both write again.
    The weights are those of the time of the save."""
    config = config_of(folder / "model", checkpoint=ALWAYS)
    tokenizer, learner = load(config)
    first, filler = learner.share.rank == 0, disk / "filler"
    if first:
        room = (folder / "model/model.safetensors").stat().st_size // 2
        filler.write_bytes(b"0" * (shutil.disk_usage(disk).free - room))
    dist.barrier()
    if live:
        attempt = partial(checkpoint.save_sharded, disk / "live", tokenizer, LiveShards(learner, Progress(step=1)))
    else:
        write = background(learner, tokenizer).start(disk / "copied", Progress(step=1))
        assert write is not None
        attempt = write.result
    outcome = ""
    try:
        attempt()
    except Exception as error:
        outcome = str(error)
    dist.barrier()
    if first:
        filler.unlink()
    dist.barrier()
    return {"outcome": outcome, "valid": is_valid(attempt())}
