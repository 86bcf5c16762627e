"""Processes of a test, each fresh, but forks of one that has imported what they need.

To import torch and transformers takes longer than most of what such processes do.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

IMPORTED = (
    "pytest",  # where a test runs, its processes import the program that started them
    "peft",
    "torch.distributed.fsdp",
    "engine.training.session",
    "tests.engine.training.sharded_runs",
    "tests.engine.training.materialized_shards",
    "tests.engine.training.sharded_saves",
)
PATIENCE = timedelta(seconds=60)  # of one process with another


def run_together(work: Callable[..., None], *args: Any, size: int = 2) -> None:
    """`work(rank, *args)` in `size` processes. The first error ends them all, and is raised with its traceback."""
    with_imports()
    processes.start_processes(work, args=args, nprocs=size, start_method="forkserver")


def start_alone(work: Callable[..., None], *args: Any) -> BaseProcess:
    """`work(*args)` in a process that a test may end or kill."""
    process = with_imports().Process(target=work, args=args)
    process.start()
    return process


def with_imports() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))  # the first call counts
    return context


def meet(rank: int, size: int, folder: Path) -> None:
    """Joins the group of the processes that meet in `folder`, where none has met before."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=size, timeout=PATIENCE)


def report(found: dict[str, Any], folder: Path) -> None:
    """Ends the process, after the first one has written what each found to `folder/found.pt`, in order."""
    of_all: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(of_all, found)
    if dist.get_rank() == 0:
        torch.save(of_all, folder / "found.pt")
    end()


def end() -> None:
    """Of a process, once all have come this far."""
    dist.barrier()
    os._exit(0)  # gloo's threads hang in the interpreter's own end after tensors were gathered
