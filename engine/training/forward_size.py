"""How many tokens go through the model at once where `optimizer.micro_batch_tokens` leaves it open: the default of the
device, or fewer where the memory plan says that so many do not fit into what is free. Local backend only: elsewhere
learners start before their devices are known.

The result of an update does not depend on the number, except for the order in which floats are added. So a run keeps it
in its checkpoints, and resumes with it if it still fits.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from engine.cluster.byte_units import format_bytes
from engine.cluster.local_memory import LocalMemory, estimate_local
from engine.config import RunConfig
from engine.config.learning import ON_A_CPU, ON_A_GPU
from engine.errors import ModelError
from engine.main_memory import free_memory
from engine.policies.model_shape import ModelShape, model_shape

STEP = 256  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSize:
    """`tokens` instead of `usual`, since `room` bytes are free; `needs` is what the learner then takes."""

    tokens: int
    usual: int
    room: int
    needs: int

    def __str__(self) -> str:
        fits = "needs" if self.needs <= self.room else "may still need"
        return (
            f"{self.tokens:,} tokens go through the model at once, not {self.usual:,}: {format_bytes(self.room)} of "
            f"memory are free, and training {fits} {format_bytes(self.needs)}. Results are the same; updates may take "
            "longer. optimizer.micro_batch_tokens sets the number."
        )


def fitting_size(config: RunConfig, found: Path | None) -> ForwardSize | None:
    """For the memory that is free before the model is loaded; `found` is the checkpoint that the run resumes from.
    None where the usual number fits, where it is configured, and where the plan does not know the model."""
    if config.backend != "local" or config.optimizer.micro_batch_tokens:
        return None
    try:
        shape = model_shape(config.model.path)
    except ModelError:
        return None
    gpu = torch.cuda.is_available()
    usual = _saved(found) or (ON_A_GPU if gpu else ON_A_CPU)
    return _fitting(config, shape, usual=usual, room=free_on_device(gpu=gpu), gpu=gpu, saved=bool(_saved(found)))


def free_on_device(*, gpu: bool) -> int:
    """What a run can take in total. The plan counts this process, which has its part already."""
    if gpu:
        return int(torch.cuda.mem_get_info()[0])
    return free_memory() + int(psutil.Process().memory_info().rss)


def with_tokens(config: RunConfig, tokens: int) -> RunConfig:
    optimizer = config.optimizer.model_copy(update={"micro_batch_tokens": tokens})
    return config.model_copy(update={"optimizer": optimizer})


def _fitting(
    config: RunConfig, shape: ModelShape, *, usual: int, room: int, gpu: bool, saved: bool
) -> ForwardSize | None:
    def plan(tokens: int) -> LocalMemory:
        return estimate_local(with_tokens(config, tokens), shape, gpu=gpu)

    def is_too_much(tokens: int) -> bool:
        return plan(tokens).learner.total > room

    least = plan(1).tokens  # of the longest trajectory, which is not split
    if least >= usual or not is_too_much(usual):
        needs = plan(usual).learner.total
        return ForwardSize(tokens=usual, usual=usual, room=room, needs=needs) if saved else None
    choices = range(least, usual, STEP)
    tokens = choices[max(0, bisect_left(choices, True, key=is_too_much) - 1)]
    return ForwardSize(tokens=tokens, usual=usual, room=room, needs=plan(tokens).learner.total)


def _saved(found: Path | None) -> int:
    """The number that the run had before; 0 if that was the usual one."""
    if found is None:
        return 0
    try:
        counters: dict[str, Any] = json.loads((found / "progress.json").read_text())
        return int(counters.get("tokens_per_forward", 0))
    except (OSError, ValueError):
        return 0
