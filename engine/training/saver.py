"""Saves a run's checkpoints, and removes those that nothing needs."""

from __future__ import annotations

from engine.events import CheckpointReason, CheckpointSaved
from engine.training.backend import Backend
from engine.training.checkpoint import Progress
from engine.training.checkpoint_folder import GoodCheckpoints, prune, size_of
from engine.training.retention import best_of
from engine.training.run_directory import EventLog, RunDirectory


class CheckpointSaver:
    """Saves each step once. The last checkpoint before the step `fork_before` is kept for a fork; 0 is none."""

    def __init__(
        self, backend: Backend, directory: RunDirectory, events: EventLog, progress: Progress, *, newest: int
    ) -> None:
        self.backend, self.directory, self.events, self.progress = backend, directory, events, progress
        self.newest = newest
        self.good = GoodCheckpoints()
        self.saved_step = progress.step if progress.step else -1
        self.fork_before: int = progress.ending.get("fork_before", 0)

    def is_due(self) -> bool:
        return self.saved_step != self.progress.step

    def save(self, reason: CheckpointReason, *, first_signs: set[int]) -> None:
        """`first_signs`: steps at which a sign that may become an alert began; the last checkpoint before each is
        kept."""
        path = self.events.room.write(lambda: self.backend.save(self.directory.checkpoints, self.progress))
        self.good.just_written(path)
        kept, best = self._prune(first_signs)
        self.saved_step = self.progress.step
        self.events.emit(
            CheckpointSaved(
                step=self.progress.step,
                path=str(path.relative_to(self.directory.path)),
                bytes=size_of(path),
                reason=reason,
                kept=kept,
                best=best,
            )
        )
        self.events.sync()

    def save_again(self) -> None:
        """The next save writes, although this step was saved: what is saved with it has changed."""
        self.saved_step = -1

    def _prune(self, first_signs: set[int]) -> tuple[list[int], int | None]:
        """Removes old checkpoints; returns the steps of those that are left, and the best of them."""
        held_out = {int(step): success for step, success in self.progress.held_out.items()}
        before = first_signs | {self.fork_before} if self.fork_before else first_signs
        left = prune(self.directory.checkpoints, newest=self.newest, before=before, held_out=held_out, good=self.good)
        return sorted(left), best_of(left, held_out)
