"""Checkpoints that are written while training goes on: it stops for a copy of the state in main memory, and a thread
writes that.

A copy is worth its memory where a save takes long: of a model of hundreds of millions of parameters it takes seconds,
and of a small one less than the thread would cost.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psutil

from engine.main_memory import MANY_PARAMETERS, free_memory
from engine.training import checkpoint
from engine.training.checkpoint_state import CopiedState, Progress, TokenizerFiles, bytes_to_copy
from engine.training.learner import Learner


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
    """Of one learner that is not sharded."""

    def __init__(self, learner: Learner, tokenizer: Any) -> None:
        self.learner, self.tokenizer = learner, tokenizer
        self._files: TokenizerFiles | None = None

    def start(self, directory: Path, progress: Progress) -> BackgroundWrite | None:
        """None if the checkpoint is not to be written in the background."""
        if not self._is_wanted():
            return None
        if self._files is None:
            self._files = TokenizerFiles(self.tokenizer)
        return BackgroundWrite(partial(checkpoint.save, directory, self._files, CopiedState(self.learner, progress)))

    def _is_wanted(self) -> bool:
        wanted = self.learner.config.checkpoint.background
        if wanted == "auto" and self.learner.share.size == 1:
            return self.learner.model.num_parameters() > MANY_PARAMETERS and has_room(bytes_to_copy(self.learner))
        return wanted == "always" and self.learner.share.size == 1


def has_room(size: int) -> bool:
    """Whether main memory has `size` bytes besides what this process takes again in each step: its peak so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    now: int = psutil.Process().memory_info().rss
    return size + max(0, peak - now) <= free_memory()
