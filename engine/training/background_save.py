"""Checkpoints that are written while training goes on: it stops for a copy of the state in main memory, and a thread
writes that.

A copy is worth its memory where a save takes long: of a model of hundreds of millions of parameters it takes seconds,
and of a small one less than the thread would cost.
"""

from __future__ import annotations

import resource
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import psutil
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from engine.main_memory import MANY_PARAMETERS, free_memory
from engine.policies.loading import LanguageModel
from engine.training import checkpoint
from engine.training.checkpoint_state import Progress, TokenizerFiles
from engine.training.learner import Learner
from engine.training.sharded_state import CopiedShards, bytes_of_shards
from engine.training.state_copies import bytes_to_copy, copied_state


class Write(Protocol):
    """A checkpoint that is being written."""

    def done(self) -> bool:
        """Whether `result` returns at once, with a path or an error."""

    def result(self) -> Path:
        """The path, once its folder is complete. After an error the next call writes again."""


class BackgroundWrite:
    """Calls `write` on a thread."""

    def __init__(self, write: Callable[[], Path]) -> None:
        self._write = write
        thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._first: Future[Path] | None = thread.submit(write)
        thread.shutdown(wait=False)

    def done(self) -> bool:
        return self._first is None or self._first.done()

    def result(self) -> Path:
        first, self._first = self._first, None
        return first.result() if first is not None else self._write()


class BackgroundSaves:
    """Of one learner that has the whole model."""

    def __init__(self, learner: Learner, tokenizer: Any) -> None:
        self.learner, self.tokenizer = learner, tokenizer

    def start(self, directory: Path, progress: Progress) -> BackgroundWrite | None:
        """None if the checkpoint is not to be written in the background."""
        if not self._is_wanted():
            return None
        return BackgroundWrite(self._write(directory, progress))

    @cached_property
    def files(self) -> TokenizerFiles:
        return TokenizerFiles(self.tokenizer)

    def _is_wanted(self) -> bool:
        wanted = self.learner.config.checkpoint.background
        if wanted == "auto":
            return self.learner.model.num_parameters() > MANY_PARAMETERS and self._has_room()
        return wanted == "always"

    def _has_room(self) -> bool:
        return room_needed(bytes_to_copy(self.learner)) <= free_memory()

    def _write(self, directory: Path, progress: Progress) -> Callable[[], Path]:
        return partial(checkpoint.save, directory, self.files, copied_state(self.learner, progress))


class BackgroundShardSaves(BackgroundSaves):
    """Of one of several learners, all of which call `start` at the same time. Their threads have a process group of
    their own, with which they gather copies of shards from main memory to main memory."""

    def __init__(
        self, learner: Learner, tokenizer: Any, *, export_model: LanguageModel | None, patience: timedelta
    ) -> None:
        super().__init__(learner, tokenizer)
        self.export_model, self.patience = export_model, patience

    @cached_property
    def mesh(self) -> DeviceMesh:
        group = dist.new_group(backend="gloo", timeout=self.patience)
        # DTensor keeps plans for meshes that are equal, and without a name this one equals that of training
        return DeviceMesh.from_group(group, "cpu", mesh_dim_names=("checkpoint",))

    def _has_room(self) -> bool:
        """On each machine, for the copies of all learners there."""
        mine = (socket.gethostname(), room_needed(bytes_of_shards(self.learner)), free_memory())
        of_all: list[Any] = [None] * self.learner.share.size
        dist.all_gather_object(of_all, mine, group=self.mesh.get_group())
        return fits_everywhere(of_all)

    def _write(self, directory: Path, progress: Progress) -> Callable[[], Path]:
        copy = CopiedShards(self.learner, progress, self.mesh)
        return partial(checkpoint.save_sharded, directory, self.files, copy, export_model=self.export_model)


def room_needed(size: int) -> int:
    """`size` bytes, besides what this process takes again in each step: its peak so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    now: int = psutil.Process().memory_info().rss
    return size + max(0, peak - now)


def fits_everywhere(processes: Sequence[tuple[str, int, int]]) -> bool:
    """Whether each machine has what its processes need: of each process the machine, bytes needed and bytes free."""
    needed, free = Counter[str](), dict[str, int]()
    for machine, size, there in processes:
        needed[machine] += size
        free[machine] = min(there, free.get(machine, there))
    return all(needed[machine] <= free[machine] for machine in free)
