"""How long training stands still for a checkpoint, and how long it takes to write one and to resume from it.

A learner with the shape of Qwen2.5-0.5B and random weights makes an update, and saves: once while training waits for
the write (`checkpoint.background` never), and once from a copy, while it makes further updates (always); beside them a
bare copy of weights and moments in main memory. Then another learner loads the checkpoint. The model, the copy and the
gradients take 14 GB of main memory, and the files 14 GB.

With `--rank` an adapter trains; with `--learners 2` the model is sharded over two processes of this machine.

    python -m benchmarks.checkpoint_writes [--tiny] [--layers N] [--rank N] [--learners N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.gpu.models import QWEN25_HALF_BILLION, SMALL, save_random_model
from engine.config import RunConfig, build_config
from engine.cpu_threads import limit_thread_spinning

if TYPE_CHECKING:
    from torch import Tensor

    from engine.training.background_save import BackgroundSaves
    from engine.training.learner import Learner
    from engine.training.sharding import Share

ROWS, LENGTH = 1, 128
UPDATES = 1  # after a first one, to compare those during the write with
T = TypeVar("T")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="a very small model, for tests")
    parser.add_argument("--layers", type=int, default=24, help="fewer, for a machine with less memory")
    parser.add_argument("--rank", type=int, default=0, help="of an adapter; 0: the whole model trains")
    parser.add_argument("--learners", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="on the disk to write to; a temporary folder otherwise")
    options = parser.parse_args(arguments)
    limit_thread_spinning()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        shape = SMALL if options.tiny else {**QWEN25_HALF_BILLION, "num_hidden_layers": options.layers}
        result = measure(Path(scratch), shape, rank=options.rank, learners=options.learners)
    sys.stdout.write(json.dumps({"benchmark": "checkpoint_writes", **result}) + "\n")
    return 0


def measure(folder: Path, shape: dict[str, Any], *, rank: int, learners: int) -> dict[str, Any]:
    """Bytes, and seconds of each part."""
    from torch.multiprocessing.spawn import spawn

    from engine.training.checkpoint import load_learner
    from engine.training.checkpoint_folder import is_valid
    from engine.training.sharding import Alone

    config = save_model(folder / "model", shape, rank=rank)
    if learners == 1:
        written = write_both_ways(config, folder / "checkpoints", Alone())
    else:
        spawn(write_one_part, args=(learners, config.model_dump_json(), folder), nprocs=learners)
        written = json.loads((folder / "written.json").read_text())
    gc.collect()
    found = folder / "checkpoints/step_2"
    (_, learner, progress), resuming = timed(lambda: load_learner(config, found, device="cpu"))
    if progress.step != 2 or not learner.optimizer.state_dict()["state"]:
        raise RuntimeError(f"{found} was not loaded.")
    valid, verifying = timed(lambda: is_valid(found))
    if not valid:
        raise RuntimeError(f"{found} is damaged.")
    return {
        "learners": learners,
        "rank": rank,
        **written,
        "resume_seconds": round(resuming, 2),
        "verify_seconds": round(verifying, 2),
    }


def write_one_part(number: int, learners: int, config: str, folder: Path) -> None:
    """What one of several learners does. The first one writes down what it found."""
    import torch
    import torch.distributed as dist

    from engine.training.sharding import Sharded

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // learners))
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=number, world_size=learners)
    written = write_both_ways(RunConfig.model_validate_json(config), folder / "checkpoints", Sharded())
    if number == 0:
        (folder / "written.json").write_text(json.dumps(written))
    dist.barrier()
    os._exit(0)  # gloo's threads hang in the interpreter's own end after tensors were gathered


def save_model(folder: Path, shape: dict[str, Any], *, rank: int) -> RunConfig:
    """A directory like a user's, and a run of it."""
    from engine.policies.loading import load_tokenizer

    save_random_model(shape, folder)
    load_tokenizer("tiny").save_pretrained(folder)
    return build_config(
        {
            "model": {"path": str(folder), "lora": {"rank": rank}},
            "checkpoint": {"background": "always"},
            "optimizer": {"updates_per_step": 1},
        }
    )


def write_both_ways(config: RunConfig, directory: Path, share: Share) -> dict[str, Any]:
    """All learners make as many updates meanwhile, since each takes part in all of them."""
    from benchmarks.gpu.learner import made_up_batch
    from benchmarks.gpu.learner import timed as timed_update
    from engine.policies.policy_weights import whole
    from engine.training import checkpoint
    from engine.training.checkpoint_folder import size_of
    from engine.training.checkpoint_state import Progress

    tokenizer, learner, _ = checkpoint.load_learner(config, None, device="cpu", share=share)
    batch = made_up_batch(ROWS * share.size, LENGTH, vocabulary=learner.model.config.vocab_size)
    alone = [timed_update(learner, batch, update) for update in range(1 + UPDATES)][1:]
    whole(next(learner.model.parameters()))  # the first gathering of a process imports what it needs, for seconds
    path, waiting = timed(lambda: save_waiting(directory, tokenizer, learner))
    copying = timed(lambda: [tensor.clone() for tensor in tensors_of(learner)])[1]  # freed at once
    saves, copied = saves_of(learner, tokenizer)
    began = time.perf_counter()
    write, standing_still = timed(lambda: saves.start(directory, Progress(step=2)))
    if write is None:
        raise RuntimeError("The checkpoint was not written in the background.")
    with ThreadPoolExecutor(1) as watcher:
        complete = watcher.submit(wait_until, write.done)
        meanwhile: list[float] = []
        while share.total({"done": float(complete.done())})["done"] < share.size:
            meanwhile.append(timed_update(learner, batch, len(meanwhile)))
    write.result()
    return {
        "parameters": learner.model.num_parameters(),
        "checkpoint_bytes": size_of(path),
        "copied_bytes": copied,
        "bare_copy_seconds": round(copying, 2),
        "still_seconds": {"never": round(waiting, 2), "always": round(standing_still, 2)},
        "write_seconds": round(complete.result() - began, 2),
        "update_seconds": round(statistics.median(alone), 2),
        "updates_meanwhile": len(meanwhile),
        "update_seconds_meanwhile": round(statistics.median(meanwhile), 2) if meanwhile else None,
    }


def save_waiting(directory: Path, tokenizer: Any, learner: Learner) -> Path:
    from engine.training import checkpoint
    from engine.training.checkpoint_state import LiveState, Progress
    from engine.training.sharded_state import LiveShards

    if learner.share.size == 1:
        return checkpoint.save(directory, tokenizer, LiveState(learner, Progress(step=1)))
    return checkpoint.save_sharded(directory, tokenizer, LiveShards(learner, Progress(step=1)))


def saves_of(learner: Learner, tokenizer: Any) -> tuple[BackgroundSaves, int]:
    """What writes in the background, and the bytes that it copies."""
    from engine.training.background_save import BackgroundSaves, BackgroundShardSaves
    from engine.training.sharded_state import bytes_of_shards
    from engine.training.state_copies import bytes_to_copy

    if learner.share.size == 1:
        return BackgroundSaves(learner, tokenizer), bytes_to_copy(learner)
    patience = timedelta(minutes=30)
    return BackgroundShardSaves(learner, tokenizer, export_model=None, patience=patience), bytes_of_shards(learner)


def tensors_of(learner: Learner) -> list[Tensor]:
    """This learner's part of what trains and of its moments."""
    from torch.distributed.tensor import DTensor

    moments = [value for state in learner.optimizer.state.values() for value in state.values()]
    tensors = [*(weight.detach() for weight in learner.model.parameters() if weight.requires_grad), *moments]
    return [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors]


def wait_until(done: Callable[[], bool]) -> float:
    """The time at which it is."""
    while not done():
        time.sleep(0.005)
    return time.perf_counter()


def timed(action: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = action()
    return result, time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())
