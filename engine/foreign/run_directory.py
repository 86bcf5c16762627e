"""A run directory made from foreign rollouts: trajectory files and events as the engine would have written them.

An import that was interrupted can be repeated from the same sources: files that are complete stay as they are, and
`events.jsonl`, which is written last, gets its name only once it is complete.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from statistics import fmean, pstdev, stdev

from engine.config import RunConfig
from engine.event_lines import line_of
from engine.events import Event, RunFinished, RunStarted, Split, StepCompleted, TrajectoriesRecorded, VerdictUpdated
from engine.foreign.records import Record, record_of_rollout
from engine.foreign.rollouts import NoRollout, Rollout, read_rollout
from engine.rollout.trajectory_files import write_trajectory_file
from engine.verdict.assessor import Assessor, Settings

MOST_LISTED = 200  # lines in error that are listed one by one


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


@dataclass(slots=True, kw_only=True)
class Report:
    """The result of an import. `errors` has file, line number and reason of the first `MOST_LISTED`."""

    lines: int = 0  # that have been read, without empty ones
    rollouts: int = 0
    failed: int = 0
    written: int = 0  # trajectories that are in files
    unscored: int = 0
    steps: list[int] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)
    errors: list[tuple[str, int, str]] = field(default_factory=list)

    def summary(self) -> str:
        parts = [f"Read: {_many(self.rollouts, 'trajectory', 'trajectories')} in {_many(len(self.steps), 'step')}."]
        if self.failed:
            name, number, reason = self.errors[0]
            failed = _many(self.failed, "line")
            parts.append(f"{failed} could not be read; the first is line {number} of {name}: {reason}.")
        if self.unscored:
            parts.append(f"Without a score, and counted as 0: {_many(self.unscored, 'trajectory', 'trajectories')}.")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file: its name, which may contain the step, and its lines."""

    name: str
    lines: Iterable[bytes | str]


Progress = Callable[[Report], None]


def import_rollouts(
    sources: Sequence[Source], directory: Path, *, split: Split | None = None, progress: Progress = lambda _: None
) -> Report:
    """Reads all sources into `directory`, which gets trajectory files and `events.jsonl`; nothing if no line is valid.

    `split` is for rollouts without one; by default, those with `metadata` about an environment are held-out, as RAGEN
    exports them, and the others are training rollouts. `progress` is called for each line and each file.
    """
    report = Report()
    steps: dict[tuple[int, Split], list[Rollout]] = {}
    for source in sources:
        for rollout in _read(source, report, progress):
            step = rollout.step if rollout.step is not None else _step_of_name(source.name)
            chosen = rollout.split or split or ("validation" if "env_id" in rollout.facts else "train")
            steps.setdefault((step, chosen), []).append(rollout)
            report.rollouts += 1
            report.unscored += rollout.score is None
    report.steps = sorted({step for step, _ in steps})
    if steps:
        _write(steps, directory, report, progress)
    progress(report)
    return report


def _read(source: Source, report: Report, progress: Progress) -> Iterator[Rollout]:
    for number, line in enumerate(source.lines, start=1):
        if not line.strip():
            continue
        report.lines += 1
        progress(report)
        try:
            yield read_rollout(line)
        except NoRollout as error:
            report.failed += 1
            if len(report.errors) < MOST_LISTED:
                report.errors.append((source.name, number, str(error)))


def _step_of_name(name: str) -> int:
    """verl names a file after its step; rollouts of other files are of step 0."""
    stem = PurePath(name).name.partition(".")[0].rpartition("_")[2]
    return int(stem) if stem.isascii() and stem.isdigit() and len(stem) < 10 else 0


def _write(steps: dict[tuple[int, Split], list[Rollout]], directory: Path, report: Report, progress: Progress) -> None:
    environments: Counter[str] = Counter()
    with _Events(directory) as events:
        last = max(report.steps)
        assessor = Assessor(Settings.of(RunConfig(), total_steps=last))
        events.emit(RunStarted(step=0, total_steps=last, pid=0, device="elsewhere", model="", parameters=0))
        for (step, split), rollouts in sorted(steps.items()):
            records = list(_records(step, split, rollouts))
            environments.update(record["environment"] for record in records)
            file = f"trajectories/{split}/step_{step}.jsonl.zst"
            if not (directory / file).exists():
                write_trajectory_file(directory / file, records)
            report.written += len(records)
            progress(report)
            if split == "train":
                metrics = _metrics(records)
                assessor.add_step(step, metrics)
                events.emit(StepCompleted(step=step, metrics=metrics, tokens=0, seconds=0.0))
            events.emit(TrajectoriesRecorded(step=step, split=split, path=file, count=len(records)))
        assessor.end()
        if (verdict := assessor.verdict()) is not None:
            events.emit(VerdictUpdated(step=verdict.step, verdict=verdict))
        events.emit(RunFinished(step=last, outcome="completed", reason=report.summary()))
    report.environments = [name for name, _ in environments.most_common()]


class _Events:
    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "events.jsonl"
        self.file = self.path.with_name("events.jsonl.part").open("wb")
        self.seq = 0

    def __enter__(self) -> _Events:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.file.flush()
            os.fsync(self.file.fileno())
        self.file.close()
        if kind is None:
            Path(self.file.name).replace(self.path)

    def emit(self, event: Event) -> None:
        self.seq += 1
        recorded = event.stamped(seq=self.seq, time=time.time(), attempt=1, epoch=0)
        self.file.write(line_of(recorded))


def _records(step: int, split: str, rollouts: list[Rollout]) -> Iterator[Record]:
    groups: dict[tuple[str, str], int] = {}
    taken: set[tuple[str, int, int]] = set()
    following: dict[tuple[str, int, int], int] = {}  # those before it are taken, from the member that was asked for
    scores: dict[tuple[str, str], list[float]] = {}
    for rollout in rollouts:
        scores.setdefault((rollout.environment, rollout.group), []).append(rollout.score or 0.0)
    stds = {key: stdev(found) if len(found) > 1 else None for key, found in scores.items()}
    for rollout in rollouts:
        key = (rollout.environment, rollout.group)
        group = groups.setdefault(key, len(groups))
        wanted = (rollout.environment, group, rollout.member or 0)
        member = following.get(wanted, rollout.member or 0)
        while (rollout.environment, group, member) in taken:
            member += 1
        following[wanted] = member + 1
        taken.add((rollout.environment, group, member))
        yield record_of_rollout(rollout, step=step, split=split, group=group, member=member, group_std=stds[key])


def _metrics(records: list[Record]) -> dict[str, float]:
    scores = [record["score"] for record in records]
    stds = {(r["environment"], r["group"]): r["group_std"] for r in records if r["group_std"] is not None}
    metrics = {
        "reward/mean": fmean(scores),
        "reward/std": pstdev(scores),
        "reward/min": min(scores),
        "reward/max": max(scores),
        "rollout/success": fmean(float(record["success"]) for record in records),
        "rollout/turns": fmean(len(record["turns"]) for record in records),
    }
    if stds:
        metrics["reward/within_group_std"] = fmean(stds.values())
        metrics["rollout/zero_variance_share"] = fmean(float(group_std < 1e-9) for group_std in stds.values())
    return metrics


def as_log(report: Report) -> str:
    """The report with each line in error, for `engine.log`."""
    lines = [report.summary(), *(f"{name} line {number}: {reason}" for name, number, reason in report.errors)]
    if report.failed > len(report.errors):
        lines.append(f"… and {report.failed - len(report.errors)} more")
    return "\n".join(json.dumps(line, ensure_ascii=True)[1:-1] for line in lines) + "\n"
