"""How many tokens go through the model at once where `optimizer.micro_batch_tokens` leaves it open: the default of the
device, or fewer where the memory plan says that so many do not fit into what is free.

The result of an update does not depend on the number, except for the order in which floats are added. So a run keeps it
in its checkpoints, and resumes with it if it still fits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import torch

from engine.cluster.byte_units import format_bytes
from engine.cluster.forward_tokens import Plan, fitting_tokens, with_tokens
from engine.cluster.local_memory import estimate_local
from engine.config import RunConfig
from engine.config.learning import ON_A_CPU, ON_A_GPU
from engine.errors import ModelError
from engine.main_memory import free_memory
from engine.policies.model_shape import ModelShape, model_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSize:
    """`tokens` instead of `usual`, for a learner that has `room` bytes; `needs` is what it then takes by the plan."""

    tokens: int
    usual: int
    room: int
    needs: int

    @property
    def is_short(self) -> bool:
        """Whether memory is, so that people should know."""
        return self.tokens < self.usual or self.needs > self.room

    def __str__(self) -> str:
        instead = f", not {self.usual:,}" if self.tokens < self.usual else ""
        at_once = f"{self.tokens:,} tokens go through the model at once{instead}"
        has = f"a learner has {format_bytes(self.room)} of free memory"
        if self.needs > self.room:
            return (
                f"{at_once}, as many as the longest trajectory has: {has}, and may need {format_bytes(self.needs)}. "
                "Turn on optimizer.gradient_checkpointing, lower rollout.max_context_tokens, train an adapter "
                "(model.lora.rank), or use more learners with the ray backend."
            )
        return (
            f"{at_once}: {has}, and needs {format_bytes(self.needs)}. Results are the same; updates may take longer. "
            "optimizer.micro_batch_tokens sets the number."
        )


def fitting_size(config: RunConfig, found: Path | None) -> ForwardSize | None:
    """Of a run in this process, for the memory that is free before the model is loaded. As `size_for`; None where the
    number is configured, and where the plan does not know the model."""
    shape, gpu = shape_if_open(config), torch.cuda.is_available()
    if shape is None:
        return None
    plan = partial(estimate_local, shape=shape, gpu=gpu)
    return size_for(config, found, plan, room=free_on_device(gpu=gpu), gpu=gpu)


def shape_if_open(config: RunConfig) -> ModelShape | None:
    """That of the model, for which the plan can choose a number of tokens; None if it cannot, or may not."""
    if config.optimizer.micro_batch_tokens:
        return None
    try:
        return model_shape(config.model.versioned_path)
    except ModelError:
        return None


def size_for(config: RunConfig, found: Path | None, plan: Plan, *, room: int, gpu: bool) -> ForwardSize | None:
    """For a learner that has `room` bytes, by `plan`; `found` is the checkpoint that the run resumes from. None where
    the usual number fits."""
    default = ON_A_GPU if gpu else ON_A_CPU
    saved = _saved(found)
    usual = min(saved or default, default)  # the checkpoint may be of another kind of device
    tokens = fitting_tokens(config, plan, usual=usual, room=room)
    planned = plan(with_tokens(config, tokens))
    needs = planned.learner.total
    if needs > room:  # even with no more than the longest trajectory
        return ForwardSize(tokens=max(tokens, planned.tokens), usual=usual, room=room, needs=needs)
    return ForwardSize(tokens=tokens, usual=usual, room=room, needs=needs) if saved or tokens < usual else None


def free_on_device(*, gpu: bool) -> int:
    """What this process can take in total. The plan counts what it has already."""
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
