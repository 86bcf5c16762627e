"""What every actor does first: where its stacks go when it hangs, and which GPUs it sees. Torch is `actor_device`'s."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from pathlib import Path
from typing import IO

from engine.cluster.looking import Place
from engine.cpu_threads import limit_thread_spinning

PR_SET_PDEATHSIG = 1  # prctl(2)
_open_files: list[IO[str]] = []  # faulthandler writes to a file that must stay open


def set_up(name: str, stacks: Path, *, gpu: bool = True) -> None:
    """On SIGUSR1 the stacks of all threads go to `stacks/<name>.txt`, whatever Python is doing."""
    if not gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # Ray leaves all of a machine's GPUs to who asked it for none
    limit_thread_spinning()
    die_with_parent()
    stacks.mkdir(parents=True, exist_ok=True)
    file = (stacks / f"{name}.txt").open("w")
    _open_files.append(file)
    faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)


def die_with_parent() -> None:
    """On Linux an actor goes at once when its node's Ray does. By itself it would see that after a while, and
    nobody would know it by then: Ray's actors write their names over their environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def place() -> Place:
    """Where this actor is."""
    import ray

    context = ray.get_runtime_context()
    return Place(node=context.get_node_id(), pid=os.getpid(), name=context.get_actor_name() or "")
