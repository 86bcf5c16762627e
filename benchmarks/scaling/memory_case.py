"""One learner of `benchmarks.scaling.memory`: loads the model, makes two updates, and prints the most memory it held.

    python -m benchmarks.scaling.memory_case CASE.json RANK RENDEZVOUS

Resident memory is the kernel's count of this process's pages (`VmRSS` of /proc/self/status), and its high-water mark
(`VmHWM`), which is reset after loading (`/proc/self/clear_refs`, see proc(5)).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from engine.cpu_threads import limit_thread_spinning

UPDATES = 2


def resident(field: str) -> int:
    """Bytes of a field of this process's status, such as VmRSS or VmHWM."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def reset_high_water_mark() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def measure(case: dict[str, Any], rank: int, rendezvous: str) -> dict[str, int]:
    import torch
    import torch.distributed as dist

    from benchmarks.gpu.learner import made_up_batch
    from engine.config import RunConfig
    from engine.training.checkpoint import load_learner
    from engine.training.sharding import Alone, Sharded, Share

    torch.set_num_threads(1)
    share: Share = Alone()
    if case["learners"] > 1:
        dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=case["learners"])
        share = Sharded()
    config = RunConfig.model_validate(case["config"])
    imported = resident("VmRSS")
    _, learner, _ = load_learner(config, None, device="cpu", share=share)
    loading = resident("VmHWM")
    reset_high_water_mark()
    loaded = resident("VmRSS")
    batch = made_up_batch(case["rows"], case["length"], vocabulary=learner.model.config.vocab_size)
    for update in range(UPDATES):
        shuffle = torch.Generator().manual_seed(update)
        learner.update(batch, batch.scores[:, None] * batch.mask, step=1 + update, shuffle=shuffle)
    training = resident("VmHWM")
    if case["learners"] > 1:
        dist.destroy_process_group()
    return {"imported": imported, "loading": loading, "loaded": loaded, "training": training}


if __name__ == "__main__":
    limit_thread_spinning()
    given, number, address = sys.argv[1:]
    found = measure(json.loads(Path(given).read_text()), int(number), address)
    sys.stdout.write(json.dumps(found) + "\n")
