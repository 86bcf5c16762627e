"""A trajectory file as rows, not yet saved: trajectories that can be read, their text, and those that are lost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from engine.errors import RunDirectoryError
from engine.events import TrajectoriesRecorded
from engine.rollout.trajectory_files import Frame, survey
from webapp.runs.models import Run
from webapp.trajectories.faults import FINE, as_column
from webapp.trajectories.models import LostTrajectory, Trajectory, TrajectoryText
from webapp.trajectories.texts import actions_of, thoughts_of

REQUIRED = frozenset(
    {"step", "split", "environment", "group", "member", "seed", "success", "episode_return", "score", "turns"}
)
NUMBERS = ("episode_return", "score", "advantage", "group_std")


@dataclass(slots=True)
class FileRows:
    trajectories: list[Trajectory] = field(default_factory=list)
    texts: dict[int, TrajectoryText] = field(default_factory=dict)  # by offset, without the trajectory's key
    lost: list[LostTrajectory] = field(default_factory=list)


def read_trajectory_file(run: Run, recorded: TrajectoriesRecorded) -> FileRows:
    """The rows of a recorded file. It never raises for what a file holds."""
    loss = _Losses(run, recorded)
    found = FileRows()
    try:
        for frame in survey(inside(run.directory, recorded.path)):
            _index(run, recorded, frame, found, loss)
    except FileNotFoundError:
        loss.rest(found, "The file is gone.")
    except OSError as error:
        loss.rest(found, f"The file cannot be read: {error.strerror or error}.")
    except RunDirectoryError as error:
        loss.rest(found, error.message)
    else:
        loss.rest(found, "The file has fewer trajectories than were recorded.")
    return found


def inside(directory: Path, relative: str) -> Path:
    """The file `relative` of the run directory; `RunDirectoryError` for one outside."""
    path = (directory / relative).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise RunDirectoryError(f"The path {relative!r} leads out of the run directory.")
    return path


def _index(run: Run, recorded: TrajectoriesRecorded, frame: Frame, found: FileRows, loss: _Losses) -> None:
    if frame.record is None:
        found.lost.append(loss.of(frame, frame.why))
        return
    try:
        row = _trajectory(run, recorded.path, frame.offset, frame.length, frame.record)
        row.attempt = recorded.attempt
        _check(row)
        text = _text(run, frame.record)
    except (LookupError, TypeError, ValueError, AttributeError, ValidationError) as error:
        found.lost.append(loss.of(frame, f"at byte {frame.offset}, it is not a complete record: {_words(error)}"))
        return
    found.trajectories.append(row)
    found.texts[frame.offset] = text


class _Losses:
    """Rows of lost trajectories, with the step and split of the event."""

    def __init__(self, run: Run, recorded: TrajectoriesRecorded) -> None:
        self.run, self.recorded = run, recorded

    def of(self, frame: Frame, why: str) -> LostTrajectory:
        return self._row(offset=frame.offset, why=f"The file is damaged: {why}.", **_known(frame.identity))

    def rest(self, found: FileRows, why: str) -> None:
        """Those that were neither read nor named as lost."""
        missing = self.recorded.count - len(found.trajectories) - len(found.lost)
        if missing > 0:
            found.lost.append(self._row(count=missing, why=why))

    def _row(self, **values: Any) -> LostTrajectory:
        remedy = (
            f"Bring the file back from a copy of the run directory, then: python manage.py rebuild_run {self.run.pk}"
        )
        recorded = self.recorded
        return LostTrajectory(
            run=self.run, file=recorded.path, step=recorded.step, split=recorded.split, remedy=remedy, **values
        )


def _known(identity: dict[str, Any]) -> dict[str, Any]:
    """Of the contents' words only what a row can hold: they are as foreign as the records."""
    environment = identity.get("environment")
    known = {name: identity.get(name) for name in ("group", "member", "seed")}
    whole = {name: value for name, value in known.items() if type(value) is int and 0 <= value < 2**31}
    return {"environment": environment[:60] if isinstance(environment, str) else "", **whole}


def _trajectory(run: Run, file: str, offset: int, length: int, record: dict[str, Any]) -> Trajectory:
    return Trajectory(
        run=run,
        step=record["step"],
        split=record["split"],
        environment=record["environment"],
        kind=record["kind"],
        group=record["group"],
        member=record["member"],
        seed=record["seed"],
        success=record["success"],
        episode_return=record["return"],
        score=record["score"],
        advantage=record["advantage"],
        group_std=record["group_std"],
        kept=record["kept"],
        turns=len(record["turns"]),
        response_tokens=record.get("response_tokens") or sum(record["tokens"]["sampled"]),
        parse_failures=sum(turn["parse"] != FINE for turn in record["turns"]),
        faults=as_column(turn["parse"] for turn in record["turns"]),
        surplus=sum(turn.get("surplus", 0) for turn in record["turns"]),
        stop=record["stop"],
        reason=record.get("reason", "all"),
        file=file,
        offset=offset,
        length=length,
    )


def _check(row: Trajectory) -> None:
    """`ValidationError` or `ValueError` for values that a table would refuse: one row must not cost the others."""
    empty = {item.name for item in row._meta.fields if getattr(row, item.attname) in (None, "")}
    row.clean_fields(exclude={"run", *(empty - REQUIRED)})
    if not all(math.isfinite(getattr(row, name) or 0.0) for name in NUMBERS):
        raise ValueError("a number is not finite")


def _text(run: Run, record: dict[str, Any]) -> TrajectoryText:
    """Its words, without the key of the trajectory, which has none before it is saved."""
    return TrajectoryText(run=run, thoughts=thoughts_of(record), actions=actions_of(record))


def _words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{name}: {' '.join(problems)}" for name, problems in error.message_dict.items())
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
