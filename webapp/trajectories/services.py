"""Reading trajectories: facets and numbers of a run's list, a record by its offset, its neighbours. Read-only."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db.models import Avg, Count, Max, Min, Q, QuerySet

from engine.errors import RunDirectoryError
from engine.rollout.trajectory_files import read_text
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory


@dataclass(slots=True)
class Facets:
    """What trajectories can be filtered by, with counts over the whole run; over all runs without (`counted`)."""

    total: int = 0
    more: bool = False  # than `total`
    counted: bool = True
    first_step: int = 0
    last_step: int = 0
    environments: dict[str, int] = field(default_factory=dict)
    splits: dict[str, int] = field(default_factory=dict)
    stops: dict[str, int] = field(default_factory=dict)
    superseded: int = 0  # that `total` does not count; 0 over all runs
    filtered: bool = True  # whether a group filter kept or dropped any of them
    rules: dict[str, int] = field(default_factory=dict)  # that fired, and at how many steps


def facets(run: Run) -> Facets:
    every = Trajectory.all_attempts.filter(run=run).order_by()
    newest = every.order_by("-pk").values_list("pk", flat=True).first()
    found = Facets(superseded=every.filter(superseded=True).count())
    for environment, split, stop, count, low, high in _grouped(run.pk, newest, every.count(), found.superseded):
        found.first_step = min(found.first_step, low) if found.total else low
        found.last_step = max(found.last_step, high)
        found.total += count
        _add(found.environments, environment, count)
        _add(found.splits, split, count)
        _add(found.stops, stop, count)
    found.filtered = run.trajectories.filter(kept__isnull=False).exists()
    fired = run.alerts.order_by().values("rule").annotate(steps=Count("step", distinct=True))
    found.rules = {row["rule"]: row["steps"] for row in fired.order_by("rule")}
    return found


@lru_cache(maxsize=256)
def _grouped(run_id: str, newest: int | None, every: int, superseded: int) -> list[tuple[str, str, str, int, int, int]]:
    """Environment, split, stop, count, first and last step. To group 50,000 takes ten times as long as to count them,
    so this is kept until rows were added, deleted or superseded: nothing else changes these columns."""
    rows = Trajectory.objects.filter(run=run_id).order_by().values_list("environment", "split", "stop")
    grouped = rows.annotate(count=Count("pk"), low=Min("step"), high=Max("step"))
    return list(grouped.order_by("environment", "split", "stop"))


def _add(counted: dict[str, int], name: str, count: int) -> None:
    counted[name] = counted.get(name, 0) + count


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a list holds: a summary of each split, or none where there are `more` than `total` rows."""

    total: int
    more: bool
    summaries: list[Summary]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Rows of one split in numbers; `decided` counts those that the group filter kept or dropped."""

    split: str
    total: int
    solved: int
    were_kept: int
    decided: int
    failed: int
    mean_return: float
    mean_turns: float
    mean_tokens: float

    @property
    def percent(self) -> str:
        return f"{100 * self.solved / self.total:.1f}%"


def counts(rows: QuerySet[Trajectory]) -> Counts:
    found = summaries(rows)
    return Counts(total=sum(one.total for one in found), more=False, summaries=found)


def summaries(rows: QuerySet[Trajectory]) -> list[Summary]:
    """One for each split that has rows, training first."""
    grouped = rows.order_by().values("split").annotate(
        total=Count("pk"),
        solved=Count("pk", filter=Q(success=True)),
        were_kept=Count("pk", filter=Q(kept=True)),
        decided=Count("kept"),
        failed=Count("pk", filter=Q(parse_failures__gt=0)),
        mean_return=Avg("episode_return"),
        mean_turns=Avg("turns"),
        mean_tokens=Avg("response_tokens"),
    )  # fmt: skip
    return [Summary(**row) for row in grouped.order_by("split")]


def record(trajectory: Trajectory) -> dict[str, Any]:
    """The complete record, from its file; `RunDirectoryError` with the file and the reason if it cannot be read."""
    return _checked(trajectory, record_text(trajectory))


def checked_text(trajectory: Trajectory) -> bytes:
    """The record as the JSON in the file, which is not encoded again for each reader."""
    text = record_text(trajectory)
    _checked(trajectory, text)
    return text


def record_text(trajectory: Trajectory) -> bytes:
    if trajectory.removed:
        raise RunDirectoryError(
            "This trajectory was removed by the run's retention.", remedy="Raise capture.keep_steps in the next run."
        )
    path = file_path(trajectory)
    try:
        return read_text(path, trajectory.offset, trajectory.length)
    except OSError as error:
        raise RunDirectoryError(
            f"The trajectory file {trajectory.file} of run {trajectory.run_id} cannot be read: "
            f"{error.strerror or error}.",
            remedy="Check the permissions and the disk of the run directory.",
        ) from None


def _checked(trajectory: Trajectory, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("turns"), list):
        raise RunDirectoryError(
            f"The trajectory file {trajectory.file} has no trajectory at byte {trajectory.offset}.",
            remedy="The file was replaced or damaged after it was indexed; index the run again: "
            f"python manage.py rebuild_run {trajectory.run_id}",
        )
    return found


def file_path(trajectory: Trajectory) -> Path:
    """Its file, which must be inside the directory of its own run, links followed."""
    root = trajectory.run.directory.resolve()
    path = (root / trajectory.file).resolve()
    if not path.is_relative_to(root):
        raise RunDirectoryError(
            f"The trajectory file {trajectory.file!r} is outside the directory of run {trajectory.run_id}.",
            remedy="Its row was tampered with or its directory moved; index the run again.",
        )
    return path


def batch_of(trajectory: Trajectory) -> QuerySet[Trajectory]:
    """All trajectories of the same step, split and environment, by group and member; for a superseded one, of its
    attempt."""
    same: dict[str, Any] = {name: getattr(trajectory, name) for name in ("step", "split", "environment", "superseded")}
    if trajectory.superseded:
        same["attempt"] = trajectory.attempt
    return Trajectory.all_attempts.filter(run=trajectory.run_id, **same).order_by("group", "member")


def group_of(trajectory: Trajectory) -> QuerySet[Trajectory]:
    return batch_of(trajectory).filter(group=trajectory.group)


def neighbours(trajectory: Trajectory) -> tuple[Trajectory | None, Trajectory | None]:
    """The previous and the next member, across groups."""
    group, member = trajectory.group, trajectory.member
    batch = batch_of(trajectory)
    before = batch.filter(Q(group__lt=group) | Q(group=group, member__lt=member)).last()
    after = batch.filter(Q(group__gt=group) | Q(group=group, member__gt=member)).first()
    return before, after
