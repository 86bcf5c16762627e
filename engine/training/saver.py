"""Saves a run's checkpoints, and removes those that nothing needs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from engine.events import CheckpointReason, CheckpointSaved
from engine.training.backend import Backend
from engine.training.background_save import Write
from engine.training.checkpoint_folder import GoodCheckpoints, prune, size_of
from engine.training.checkpoint_state import Progress
from engine.training.retention import best_of
from engine.training.run_directory import EventLog, RunDirectory

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Save:
    step: int
    reason: CheckpointReason
    first_signs: set[int]


class CheckpointSaver:
    """Saves each step once. The last checkpoint before the step `fork_before` is kept for a fork; 0 is none.

    One that is written in the background is reported, and others are removed, by the first of `poll`, `finish` and the
    next `save` that is called after it is complete; `finish` and `save` wait for it. They also raise its error.
    """

    def __init__(
        self, backend: Backend, directory: RunDirectory, events: EventLog, progress: Progress, *, newest: int
    ) -> None:
        self.backend, self.directory, self.events, self.progress = backend, directory, events, progress
        self.newest = newest
        self.good = GoodCheckpoints()
        self.saved_step = progress.step if progress.step else -1
        self.fork_before: int = progress.ending.get("fork_before", 0)
        self._in_progress: tuple[Save, Write] | None = None

    def is_due(self) -> bool:
        return self.saved_step != self.progress.step

    def is_writing(self) -> bool:
        return self._in_progress is not None

    def save(self, reason: CheckpointReason, *, first_signs: set[int]) -> None:
        """`first_signs`: steps at which a sign that may become an alert began; the last checkpoint before each is
        kept."""
        self.finish()
        save = Save(self.progress.step, reason, first_signs)
        self.events.sync()  # after a power failure no checkpoint is ahead of the events
        # nothing goes on after the last one
        write = self.backend.start_save(self.directory.checkpoints, self.progress) if reason != "final" else None
        if write is None:
            path = self.events.room.write(lambda: self.backend.save(self.directory.checkpoints, self.progress))
            self._report(save, path)
        else:
            self._in_progress = save, write
        self.saved_step = save.step

    def save_again(self) -> None:
        """The next save writes, although this step was saved: what is saved with it has changed."""
        self.saved_step = -1

    def poll(self) -> None:
        """Reports a checkpoint that has been written since; does not wait for one."""
        if self._in_progress is not None and self._in_progress[1].done():
            self.finish()

    def finish(self) -> None:
        if self._in_progress is None:
            return
        (save, write), self._in_progress = self._in_progress, None
        self._report(save, self.events.room.write(write.result))

    def finish_despite(self, error: BaseException) -> None:
        """Keeps what is being written when the run ends with `error`, which is the one to be raised."""
        try:
            self.finish()
        except Exception:
            log.exception("The checkpoint in progress was lost as the run ended with %s", type(error).__name__)

    def _report(self, save: Save, path: Path) -> None:
        self.good.just_written(path)
        kept, best = self._prune(save.first_signs)
        self.events.emit(
            CheckpointSaved(
                step=save.step,
                path=str(path.relative_to(self.directory.path)),
                bytes=size_of(path),
                reason=save.reason,
                kept=kept,
                best=best,
            )
        )
        self.events.sync()

    def _prune(self, first_signs: set[int]) -> tuple[list[int], int | None]:
        """Removes old checkpoints; returns the steps of those that are left, and the best of them."""
        held_out = {int(step): success for step, success in self.progress.held_out.items()}
        before = first_signs | {self.fork_before} if self.fork_before else first_signs
        left = prune(self.directory.checkpoints, newest=self.newest, before=before, held_out=held_out, good=self.good)
        return sorted(left), best_of(left, held_out)
