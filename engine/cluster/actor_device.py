"""What an actor computes on: its GPUs, or threads of a processor."""

from __future__ import annotations

import os

import torch


def use_threads(threads: int) -> None:
    torch.set_num_threads(max(1, threads))


def device() -> str:
    """The GPUs that Ray gave this actor, or the CPU (see `actor_setup.set_up`)."""
    return "cuda" if torch.cuda.is_available() and os.environ.get("CUDA_VISIBLE_DEVICES", "x") != "" else "cpu"
