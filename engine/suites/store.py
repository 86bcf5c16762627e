"""The directory of an evaluation: its episodes as they end, in parts that are complete or absent.

    about.json       the suite, its key and conditions, the policy, versions of libraries
    trajectories/    of each part, as the replay reads them
    parts/           outcomes of each part; at the end of a session they become outcomes.parquet
    progress.json    the numbers so far
    summary.json     the numbers of a finished evaluation

Whatever ends the process, episodes of complete parts are never played again.
"""

from __future__ import annotations

import fcntl
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, RunDirectoryError
from engine.rollout.trajectory_files import Record, survey, write_trajectory_file
from engine.suites.outcomes import OUTCOMES, PARTS, Outcome, read_outcomes, write_outcomes
from engine.suites.suite import Suite
from engine.suites.summary import SuiteSummary, summarise

ABOUT, PROGRESS, SUMMARY, TRAJECTORIES, LOCK = "about.json", "progress.json", "summary.json", "trajectories", ".lock"
PART_SECONDS = 3.0
PART_EPISODES = 256
SHARE_OF_TIME = 0.05  # that reports may take
AGAIN = ("fault", "error")  # how an episode ended that a later session plays again
Key = tuple[str, str, int]


class Store:
    """One session on the directory. Not for two processes at once."""

    def __init__(self, directory: Path, suite: Suite) -> None:
        self.directory, self.suite = directory, suite
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = (directory / LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise RunDirectoryError(
                f"{directory} is in use by another evaluation.", remedy="Wait until it ends, or give another directory."
            ) from None
        self.outcomes: dict[Key, Outcome] = {_key(one): one for one in read_outcomes(directory)}
        self._new: dict[Key, tuple[Outcome, Record]] = {}
        self._next = 1 + max((number for path in self._files() if (number := _number(path)) is not None), default=-1)
        self._part_due = time.monotonic() + PART_SECONDS
        self._report_due = 0.0

    def is_finished(self, item: str, problem: str, sample: int) -> bool:
        """Whether the episode needs no more play."""
        key = (item, problem, sample)
        found = self._new[key][0] if key in self._new else self.outcomes.get(key)
        return found is not None and found.stop not in AGAIN

    def missing(self) -> int:
        """How many episodes of the suite are still to be played."""
        return sum(
            not self.is_finished(item.name, problem, sample)
            for item in self.suite.items
            for problem in item.problems
            for sample in range(item.samples)
        )

    def begin(self, about: dict[str, Any]) -> None:
        """Writes `about.json`, or refuses a directory with the evaluation of something else."""
        path = self.directory / ABOUT
        if path.exists():
            known = json.loads(path.read_text(encoding="utf-8"))
            for name, what in (("key", "suite, or with other samples"), ("weights", "model")):
                if known.get(name) != about[name]:
                    raise ConfigError(
                        f"{self.directory} has the evaluation of another {what}.", remedy="Give another directory."
                    )
            about = {**known, "sessions": known.get("sessions", 1) + 1}
        elif self.outcomes:
            raise RunDirectoryError(f"{path} is missing.", remedy="Give another directory, or restore the file.")
        write_json(path, about)

    def add(self, outcome: Outcome, record: Record) -> None:
        self._new[_key(outcome)] = (outcome, record)
        if len(self._new) >= PART_EPISODES or time.monotonic() >= self._part_due:
            self.flush()

    def flush(self) -> None:
        """Writes what is not written yet: trajectories first, so that each outcome has its own."""
        if self._new:
            path = self.directory / TRAJECTORIES / f"{self._next:06d}.jsonl.zst"
            write_trajectory_file(path, [record for _, record in self._new.values()])
            positions = [(frame.offset, frame.length) for frame in survey(path)]
            name = str(path.relative_to(self.directory))
            written = [
                replace(outcome, file=name, offset=offset, length=length)
                for (outcome, _), (offset, length) in zip(self._new.values(), positions, strict=True)
            ]
            write_outcomes(self.directory / PARTS / f"{self._next:06d}.parquet", written)
            self.outcomes |= {_key(outcome): outcome for outcome in written}
            self._new, self._next = {}, self._next + 1
        self._part_due = time.monotonic() + PART_SECONDS
        if time.monotonic() >= self._report_due:
            self.report()

    def report(self) -> SuiteSummary:
        """Writes the numbers so far."""
        started = time.monotonic()
        summary = summarise(self.outcomes.values(), self.suite)
        write_json(self.directory / PROGRESS, summary.fields())
        took = time.monotonic() - started
        self._report_due = started + took / SHARE_OF_TIME
        return summary

    def end(self) -> SuiteSummary:
        """Ends the session: one file of outcomes in place of its parts. With `summary.json` once all are played."""
        self.flush()
        parts = sorted((self.directory / PARTS).glob("*.parquet"))
        if parts:
            write_outcomes(self.directory / OUTCOMES, self.outcomes.values())
            for part in parts:
                part.unlink()
        summary = self.report()
        if summary.played == summary.planned:
            write_json(self.directory / SUMMARY, summary.fields())
        return summary

    def close(self) -> None:
        self._lock.close()

    def _files(self) -> list[Path]:
        return [
            *(self.directory / PARTS).glob("*.parquet"),
            *((self.directory / TRAJECTORIES).glob("*.jsonl.zst")),
        ]


def write_json(path: Path, content: Any) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _number(path: Path) -> int | None:
    digits = path.name.partition(".")[0]
    return int(digits) if digits.isdigit() else None


def _key(outcome: Outcome) -> Key:
    return outcome.item, outcome.problem, outcome.sample
