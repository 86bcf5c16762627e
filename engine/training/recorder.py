"""Writes a run's trajectories into its directory, within the budget of a step and the retention of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.config import RunConfig
from engine.events import Split, TrajectoriesRecorded, TrajectoriesRemoved
from engine.rollout.capture import CAPTURE_STREAM, SPLIT_STREAM, choose, counted
from engine.rollout.records import record_of
from engine.rollout.trajectory_files import write_trajectory_file
from engine.rollout.types import Trajectory
from engine.training.rollout_metrics import group_stds
from engine.training.run_directory import EventLog, RunDirectory

MEGABYTE = 1_000_000


class Recorder:
    """`piece` returns the text of a token. The random choice has its own stream, so it does not affect training."""

    def __init__(
        self, config: RunConfig, directory: RunDirectory, piece: Callable[[int], str], *, attempt: int = 1
    ) -> None:
        self.config, self.directory, self.piece, self.attempt = config, directory, piece, attempt
        self._written: dict[tuple[Split, int], Path] = {}

    def training(
        self,
        step: int,
        trajectories: Sequence[Trajectory],
        credited: Mapping[int, list[float]],
        kept: Mapping[int, bool],
    ) -> TrajectoriesRecorded | None:
        """None in a step that is not recorded. `credited` has the advantages of the trajectories trained on, `kept` the
        filter's choice: nothing without a filter, and for broken trajectories, which never come before it."""
        every = self.config.capture.every
        if not every or (step - 1) % every:
            return None
        stds = group_stds(list(trajectories))

        def training_fields(index: int) -> dict[str, Any]:
            return {
                "advantages": credited.get(index),
                "kept": kept.get(index),
                "group_std": stds.get(trajectories[index].group),
            }

        return self._write("train", step, trajectories, training_fields)

    def held_out(self, step: int, trajectories: Sequence[Trajectory]) -> TrajectoriesRecorded | None:
        if not self.config.capture.every:
            return None
        return self._write("validation", step, trajectories, lambda _: {})

    def report(self, recorded: TrajectoriesRecorded | None, events: EventLog) -> None:
        """Emits what was recorded, then removes what exceeds the run's retention and emits that."""
        if recorded is None:
            return
        events.emit(recorded)
        beyond = list(self._beyond_retention())
        if beyond:
            size = sum(path.stat().st_size for path in beyond)
            for path in beyond:
                path.unlink()
            paths = [self._relative(path) for path in beyond]
            events.emit(TrajectoriesRemoved(step=recorded.step, paths=paths, bytes=size))

    def _write(
        self, split: Split, step: int, trajectories: Sequence[Trajectory], extra_fields: Callable[[int], dict[str, Any]]
    ) -> TrajectoriesRecorded:
        seeds = [self.config.seed, step, CAPTURE_STREAM, SPLIT_STREAM[split]]
        kept = choose(trajectories, most=self.config.capture.most_per_step, seeds=seeds)
        path = self._file(split, step)
        write_trajectory_file(
            path,
            [
                record_of(
                    trajectories[index], step=step, split=split, piece=self.piece, reason=reason, **extra_fields(index)
                )
                for index, reason in kept.items()
            ],
        )
        return TrajectoriesRecorded(
            step=step,
            split=split,
            path=self._relative(path),
            count=len(kept),
            dropped=len(trajectories) - len(kept),
            reasons=counted(kept),
        )

    def _file(self, split: Split, step: int) -> Path:
        """The final evaluation replaces one of the same step and attempt; no attempt replaces files of another."""
        if (split, step) not in self._written:
            self._written[split, step] = self.directory.new_trajectory_file(split, step, attempt=self.attempt)
        return self._written[split, step]

    def _beyond_retention(self) -> Iterator[Path]:
        """Files to remove: all but those of the `keep_steps` of each split that were recorded last, then the oldest
        until the remaining ones fit."""
        limits = self.config.capture
        if not limits.keep_steps and not limits.most_megabytes:
            return
        files = {split: self.directory.trajectory_files(split) for split in SPLIT_STREAM}
        staying: list[Path] = []
        for found in files.values():
            steps = list(dict.fromkeys(step for step, _ in reversed(found)))
            newest_steps = set(steps[: limits.keep_steps or len(steps)])
            yield from (path for step, path in found if step not in newest_steps)
            staying += [path for step, path in found if step in newest_steps]
        if not limits.most_megabytes:
            return
        newest = {found[-1][1] for found in files.values() if found}
        sizes = {path: path.stat() for path in staying}
        size = sum(found.st_size for found in sizes.values())
        for path in sorted(staying, key=lambda path: sizes[path].st_mtime_ns):
            if size <= limits.most_megabytes * MEGABYTE:
                return
            if path not in newest:
                size -= sizes[path].st_size
                yield path

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self.directory.path))
