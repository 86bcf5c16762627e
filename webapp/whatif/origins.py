"""What a what-if forks: a recorded trajectory, or the trajectory of an earlier what-if."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from django.db.models import QuerySet
from django.urls import reverse

from engine.errors import RunDirectoryError
from engine.rollout.trajectory_files import read_records
from engine.what_if.request import TRAJECTORY
from webapp.jobs import JobState
from webapp.runs.models import Run
from webapp.trajectories import services as trajectories
from webapp.trajectories.models import Trajectory
from webapp.whatif.models import TRAJECTORY_KEY, WhatIf, what_ifs_of

Record = dict[str, Any]
NOT_FINISHED = "This what-if is still in progress. Fork it when it has finished."
NO_TRAJECTORY = "This what-if has no trajectory, so there is nothing to fork."


class Origin(Protocol):
    """`trajectory_key` identifies the recorded trajectory, `parent` the what-if that is forked, if it is one."""

    name: str

    @property
    def run(self) -> Run: ...

    @property
    def parent(self) -> WhatIf | None: ...

    @property
    def trajectory_key(self) -> dict[str, Any]: ...

    @property
    def turns(self) -> int: ...

    @property
    def outcome(self) -> dict[str, Any]: ...

    @property
    def address(self) -> str: ...

    def obstacle(self) -> str:
        """Why it cannot be forked; empty if it can."""

    def location(self) -> dict[str, Any]:
        """File below the run's directory, offset and length; `RunDirectoryError` where the file no longer exists."""

    def record(self) -> Record:
        """The complete record; `RunDirectoryError` with the reason if it cannot be read."""

    def what_ifs(self) -> QuerySet[WhatIf]:
        """Those that fork it, newest first."""


@dataclass(frozen=True, slots=True)
class RecordedOrigin:
    """A trajectory of the run."""

    trajectory: Trajectory
    name = "the trajectory"
    parent = None

    @property
    def run(self) -> Run:
        return self.trajectory.run

    @property
    def trajectory_key(self) -> dict[str, Any]:
        return {name: getattr(self.trajectory, name) for name in TRAJECTORY_KEY}

    @property
    def turns(self) -> int:
        return self.trajectory.turns

    @property
    def outcome(self) -> dict[str, Any]:
        return {"success": self.trajectory.success, "episode_return": self.trajectory.episode_return}

    @property
    def address(self) -> str:
        return reverse("trajectories:detail", args=[self.trajectory.run_id, self.trajectory.pk])

    def obstacle(self) -> str:
        if self.run.imported_from:
            return "This trajectory was imported: there is no environment and no model to continue with."
        return "This trajectory was removed by the run's retention." if self.trajectory.removed else ""

    def location(self) -> dict[str, Any]:
        row = self.trajectory
        return {"file": row.file, "offset": row.offset, "length": row.length}

    def record(self) -> Record:
        return trajectories.record(self.trajectory)

    def what_ifs(self) -> QuerySet[WhatIf]:
        return what_ifs_of(self.trajectory)


@dataclass(frozen=True, slots=True)
class ForkedOrigin:
    """The trajectory of a what-if, in a directory of its own: it remains when the forked trajectory is deleted."""

    what_if: WhatIf
    name = "the what-if"

    @property
    def run(self) -> Run:
        return self.what_if.run

    @property
    def parent(self) -> WhatIf:
        return self.what_if

    @property
    def trajectory_key(self) -> dict[str, Any]:
        return self.what_if.trajectory_key

    @property
    def turns(self) -> int:
        return int(self.what_if.summary.get("turns", 0))

    @property
    def outcome(self) -> dict[str, Any]:
        return dict(self.what_if.summary)

    @property
    def address(self) -> str:
        return reverse("whatif:detail", args=[self.what_if.run_id, self.what_if.pk])

    def obstacle(self) -> str:
        if self.what_if.is_live:
            return NOT_FINISHED
        if self.what_if.state != JobState.FINISHED:
            return NO_TRAJECTORY
        try:
            self._read()
        except RunDirectoryError as error:
            return error.message
        return ""

    def location(self) -> dict[str, Any]:
        offset, length, _ = self._read()
        file = self._path.relative_to(self.run.directory)
        return {"file": str(file), "offset": offset, "length": length}

    def record(self) -> Record:
        return self._read()[2]

    def what_ifs(self) -> QuerySet[WhatIf]:
        return WhatIf.objects.filter(parent=self.what_if)

    @property
    def _path(self) -> Path:
        return self.what_if.folder / TRAJECTORY

    def _read(self) -> tuple[int, int, Record]:
        sound = self._path.is_file() and not self._path.is_symlink()
        found = next(read_records(self._path), None) if sound else None
        if found is None:
            raise RunDirectoryError(
                "This what-if has no trajectory.", remedy="Submit it again; its page says what went wrong."
            )
        return found


def origin_of(what_if: WhatIf) -> Origin | None:
    """What `what_if` forks; None if that trajectory no longer exists."""
    if what_if.parent is not None:
        return ForkedOrigin(what_if.parent)
    original = what_if.original()
    return RecordedOrigin(original) if original else None
