"""How many tokens go through the model at once where `optimizer.micro_batch_tokens` leaves it open: the default of the
device, or fewer where the memory plan says that so many do not fit into what is free. Local backend only: elsewhere
learners start before their devices are known.

The result of an update does not depend on the number, except for the order in which floats are added. So a run keeps it
in its checkpoints, and resumes with it if it still fits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from engine.cluster.byte_units import format_bytes
from engine.cluster.forward_tokens import fitting_tokens, with_tokens
from engine.cluster.local_memory import estimate_local
from engine.config import RunConfig
from engine.config.learning import ON_A_CPU, ON_A_GPU
from engine.errors import ModelError
from engine.main_memory import free_memory
from engine.policies.model_shape import model_shape


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
    saved, room = _saved(found), free_on_device(gpu=gpu)
    usual = saved or (ON_A_GPU if gpu else ON_A_CPU)
    tokens = fitting_tokens(config, shape, usual=usual, room=room, gpu=gpu)
    if tokens == usual and not saved:
        return None
    needs = estimate_local(with_tokens(config, tokens), shape, gpu=gpu).learner.total
    return ForwardSize(tokens=tokens, usual=usual, room=room, needs=needs)


def free_on_device(*, gpu: bool) -> int:
    """What a run can take in total. The plan counts this process, which has its part already."""
    if gpu:
        return int(torch.cuda.mem_get_info()[0])
    return free_memory() + int(psutil.Process().memory_info().rss)


def _saved(found: Path | None) -> int:
    """The number that the run had before; 0 if that was the usual one."""
    if found is None:
        return 0
    try:
        counters: dict[str, Any] = json.loads((found / "progress.json").read_text())
        return int(counters.get("tokens_per_forward", 0))
    except (OSError, ValueError):
        return 0
