"""Imports of uploaded rollouts. An engine process writes the run's files, and the worker that holds it makes the row.

Unlike other jobs, an import whose worker is gone is queued again: complete files stay as they are, and the run is
created in the transaction that ends the import.
"""

from __future__ import annotations

import json
import shutil
import time
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from engine.disk_room import LEAST_FREE
from engine.foreign.import_command import PROGRESS
from webapp.jobs import LIVE, JobState
from webapp.launching.importing import new_run, save_run
from webapp.launching.models import RolloutImport, imports_folder
from webapp.launching.uploads import remove_files
from webapp.runs.models import Run
from workers.held_jobs import CannotStart, HeldJob, Outcome, storable

MOST_SECONDS = 3600.0
MOST_STARTS = 5
LOOK_SECONDS = 0.3
LARGEST_PROGRESS = 8 << 20
WAITS_FOR_ROOM = "The disk is full. The import goes on once there is room."
ORPHANED_AFTER = timedelta(days=1)


class HeldImport(HeldJob[RolloutImport]):
    """The engine reports lines that it has read; the row shows them."""

    model = RolloutImport
    again = "Upload the files again."
    look_seconds = LOOK_SECONDS

    def __init__(self, job: RolloutImport) -> None:
        super().__init__(job)
        self.reported: tuple[int, str] = (0, "")
        self.began = time.monotonic()

    def seconds(self) -> float:
        return MOST_SECONDS

    def timed_out(self) -> Outcome:
        return self.failed(f"It took longer than {MOST_SECONDS / 60:g} minutes.", "Upload fewer lines at once.")

    def prepare(self) -> list[str]:
        if not self.job.folder.is_dir():
            raise CannotStart("The uploaded files are no longer there.", self.again)
        self.job.starts += 1
        RolloutImport.objects.filter(pk=self.job.pk).update(starts=self.job.starts)
        return ["import-rollouts", str(self.job.folder.resolve()), "--out", str(self.job.run_directory.resolve())]

    def look(self) -> None:
        """Lines so far, if there are more."""
        try:
            changed = (self.job.folder / PROGRESS).stat(follow_symlinks=False).st_mtime_ns
        except OSError:
            changed = 0
        message = WAITS_FOR_ROOM if self._disk_is_full() else ""
        if (changed, message) == self.reported:
            return
        self.reported = changed, message
        RolloutImport.objects.filter(pk=self.job.pk).update(message=message, **self._numbers(self._report()))
        self.job.publish()

    def outcome(self, exit_status: int) -> Outcome:
        report = self._report()
        if exit_status or not report.get("done"):
            return super().outcome(exit_status or 1)
        numbers = self._numbers(report)
        if not report["rollouts"]:
            return {**self.failed("The files contain no rollouts, so no run was created."), **numbers}
        return {"state": JobState.FINISHED, "message": storable(report["summary"]), **numbers}

    def lost(self, message: str) -> Outcome:
        """Another worker continues, unless it has been lost again and again."""
        self.job.refresh_from_db()
        if self.job.stop_requested:
            return {"state": JobState.STOPPED, "message": "Stopped on request."}
        if self.job.starts >= MOST_STARTS:
            return self.failed(f"{message} It was started {self.job.starts} times.", self.again)
        return {"state": JobState.QUEUED, "message": ""}

    def _end(self, outcome: Outcome) -> None:
        """The run and the end of its import are one transaction. A worker that was taken for dead changes nothing."""
        with transaction.atomic():
            row = RolloutImport.objects.select_for_update().get(pk=self.job.pk)
            if row.state != JobState.RUNNING or row.process != self.job.process:
                return
            if outcome["state"] == JobState.QUEUED:
                return super()._end(outcome)
            if outcome["state"] == JobState.FINISHED:
                row.run = self._save_run(row)
                row.save(update_fields=["run"])
            super()._end(outcome)
        remove_files(row)

    def _save_run(self, row: RolloutImport) -> Run:
        report = self._report()
        run = new_run(origin=row.origin, name=row.name, owner=row.owner, project=row.project, key=row.run_key)
        save_run(
            run,
            row.owner,
            steps=report["steps"],
            environments=[storable(one) for one in report["environments"]],
            summary=storable(report["summary"]),
        )
        return run

    def _report(self) -> dict[str, Any]:
        path = self.job.folder / PROGRESS
        try:
            if path.is_symlink() or path.stat().st_size > LARGEST_PROGRESS:
                return {}
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _numbers(self, report: dict[str, Any]) -> Outcome:
        errors = [[storable(str(name)), number, storable(str(why))] for name, number, why in report.get("errors", [])]
        return {
            "read": report.get("lines", 0),
            "accepted": report.get("rollouts", 0),
            "rejected": report.get("failed", 0),
            "written": report.get("written", 0),
            "errors": errors,
            "seconds": time.monotonic() - self.began,
        }

    def _disk_is_full(self) -> bool:
        for folder in (self.job.folder, self.job.run_directory.parent):
            if folder.exists() and shutil.disk_usage(folder).free < LEAST_FREE:
                return True
        return False


def remove_orphans() -> None:
    """Uploads that belong to no import in progress: a site or a worker was killed before it removed them."""
    live = set(RolloutImport.objects.filter(state__in=LIVE).values_list("upload", flat=True))
    root = imports_folder()
    for folder in root.iterdir() if root.is_dir() else ():
        try:
            age = timezone.now().timestamp() - folder.stat(follow_symlinks=False).st_mtime
        except OSError:
            continue
        if folder.name not in live and age > ORPHANED_AFTER.total_seconds() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
