"""What every actor does first: threads, where its stacks go when it hangs, and its devices."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from pathlib import Path
from typing import IO

import torch

from engine.cpu_threads import wait_politely

PR_SET_PDEATHSIG = 1  # prctl(2)
_open_files: list[IO[str]] = []  # faulthandler writes to a file that must stay open


def set_up(name: str, stacks: Path, *, threads: int) -> None:
    """On SIGUSR1 the stacks of all threads go to `stacks/<name>.txt`, whatever Python is doing."""
    wait_politely()
    die_with_parent()
    torch.set_num_threads(max(1, threads))
    stacks.mkdir(parents=True, exist_ok=True)
    file = (stacks / f"{name}.txt").open("w")
    _open_files.append(file)
    faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)


def die_with_parent() -> None:
    """On Linux an actor goes at once when its node's Ray does. By itself it would see that after a while, and
    nobody would know it by then: Ray's actors write their names over their environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def device() -> str:
    """The one GPU that Ray gave this actor, or the CPU."""
    return "cuda" if torch.cuda.is_available() and os.environ.get("CUDA_VISIBLE_DEVICES", "x") != "" else "cpu"


def place() -> tuple[str, int]:
    """This actor's node and process id."""
    import ray

    return ray.get_runtime_context().get_node_id(), os.getpid()
