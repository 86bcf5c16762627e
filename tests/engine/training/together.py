"""Several processes of a test at once, each fresh, but forks of one that has imported what they need.

To import torch and transformers takes longer than most of what such processes do.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as processes

IMPORTED = (
    "pytest",  # where a test runs, its processes import the program that started them
    "peft",
    "torch.distributed.fsdp",
    "tests.engine.training.sharded_runs",
    "tests.engine.training.materialized_shards",
    "tests.engine.training.sharded_saves",
)
PATIENCE = timedelta(seconds=60)  # of one process with another


def run_together(work: Callable[..., None], *args: Any, size: int = 2) -> None:
    """`work(rank, *args)` in `size` processes. The first error ends them all, and is raised with its traceback."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(IMPORTED))  # the first call counts
    processes.start_processes(work, args=args, nprocs=size, start_method="forkserver")


def meet(rank: int, size: int, folder: Path) -> None:
    """Joins the group of the processes that meet in `folder`, where none has met before."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=size, timeout=PATIENCE)
