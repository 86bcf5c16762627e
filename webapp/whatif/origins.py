"""What a what-if can be asked of: a recorded trajectory, or what came of an earlier what-if."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from django.db.models import QuerySet
from django.urls import reverse

from engine.errors import RunDirectoryError
from engine.rollout.trajectory_files import read_records
from engine.what_if.request import TRAJECTORY
from webapp.runs.models import Run
from webapp.trajectories import services as trajectories
from webapp.trajectories.models import Trajectory
from webapp.whatif.models import PLACE, State, WhatIf, asked_of

Record = dict[str, Any]
NOT_YET = "It has not come to its end. Ask it when it is done."
NOTHING_CAME = "No trajectory came of it, so there is nothing to fork."


class Origin(Protocol):
    """`place` names the trajectory that all began with, `parent` the what-if between, where there is one."""

    name: str

    @property
    def run(self) -> Run: ...

    @property
    def parent(self) -> WhatIf | None: ...

    @property
    def place(self) -> dict[str, Any]: ...

    @property
    def turns(self) -> int: ...

    @property
    def outcome(self) -> dict[str, Any]: ...

    @property
    def address(self) -> str: ...

    def why_never(self) -> str:
        """Why nothing can be asked of it; empty when something can."""

    def lies_at(self) -> dict[str, Any]:
        """File below the run's directory, offset and length; `RunDirectoryError` where the file no longer exists."""

    def record(self) -> Record:
        """The whole record; `RunDirectoryError` says why it cannot be read."""

    def asked(self) -> QuerySet[WhatIf]:
        """What was asked of it, the newest first."""


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
    def place(self) -> dict[str, Any]:
        return {name: getattr(self.trajectory, name) for name in PLACE}

    @property
    def turns(self) -> int:
        return self.trajectory.turns

    @property
    def outcome(self) -> dict[str, Any]:
        return {"success": self.trajectory.success, "episode_return": self.trajectory.episode_return}

    @property
    def address(self) -> str:
        return reverse("trajectories:detail", args=[self.trajectory.run_id, self.trajectory.pk])

    def why_never(self) -> str:
        if self.run.imported_from:
            return "This trajectory was imported: there is no environment and no model to roll on with."
        return "This trajectory was removed by the run's retention." if self.trajectory.removed else ""

    def lies_at(self) -> dict[str, Any]:
        row = self.trajectory
        return {"file": row.file, "offset": row.offset, "length": row.length}

    def record(self) -> Record:
        return trajectories.record(self.trajectory)

    def asked(self) -> QuerySet[WhatIf]:
        return asked_of(self.trajectory)


@dataclass(frozen=True, slots=True)
class ForkedOrigin:
    """What came of a what-if. It lies in a folder of its own, whatever became of the trajectory before it."""

    what_if: WhatIf
    name = "the what-if"

    @property
    def run(self) -> Run:
        return self.what_if.run

    @property
    def parent(self) -> WhatIf:
        return self.what_if

    @property
    def place(self) -> dict[str, Any]:
        return self.what_if.place

    @property
    def turns(self) -> int:
        return int(self.what_if.summary.get("turns", 0))

    @property
    def outcome(self) -> dict[str, Any]:
        return dict(self.what_if.summary)

    @property
    def address(self) -> str:
        return reverse("whatif:detail", args=[self.what_if.run_id, self.what_if.pk])

    def why_never(self) -> str:
        if self.what_if.is_live:
            return NOT_YET
        if self.what_if.state != State.FINISHED:
            return NOTHING_CAME
        try:
            self._read()
        except RunDirectoryError as error:
            return error.message
        return ""

    def lies_at(self) -> dict[str, Any]:
        offset, length, _ = self._read()
        file = self._path.relative_to(self.run.directory)
        return {"file": str(file), "offset": offset, "length": length}

    def record(self) -> Record:
        return self._read()[2]

    def asked(self) -> QuerySet[WhatIf]:
        return WhatIf.objects.filter(parent=self.what_if)

    @property
    def _path(self) -> Path:
        return self.what_if.folder / TRAJECTORY

    def _read(self) -> tuple[int, int, Record]:
        sound = self._path.is_file() and not self._path.is_symlink()
        found = next(read_records(self._path), None) if sound else None
        if found is None:
            raise RunDirectoryError("No trajectory came of it.", remedy="Ask again; the page says what went wrong.")
        return found


def origin_of(asked: WhatIf) -> Origin | None:
    """What `asked` forks; None where its trajectory is gone."""
    if asked.parent is not None:
        return ForkedOrigin(asked.parent)
    original = asked.original()
    return RecordedOrigin(original) if original else None
