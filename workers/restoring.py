"""Restores a backup into an installation that has neither runs nor users yet."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError, ProgrammingError, connection
from django.utils import timezone

from webapp.runs.models import Run
from webapp.runs.services import move
from webapp.runs.states import SUPERVISED, RunState
from webapp.sweeps.models import Sweep, SweepState
from workers.backup import ABOUT, POSTGRESQL, SECRET, SQLITE, BackupError, folders, postgresql
from workers.copies import end_interrupted
from workers.job_kinds import KINDS

STARTED = [*SUPERVISED, RunState.QUEUED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    runs: int
    stopped: int  # of them those that were running or queued
    interrupted: int  # jobs that were running
    time: datetime  # of the backup


def restore(source: Path) -> Restored:
    _require_empty()
    data = Path(settings.STARBOARD_DATA_DIR)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data, prefix=".restore-") as name, _opened(source) as archive:
        scratch = Path(name)
        archive.extractall(scratch, filter="data")
        about = _about(scratch)
        if about["database"] != connection.vendor:
            raise BackupError(
                f"The backup is of a {about['database']} database, and this installation uses {connection.vendor}.",
                remedy="Set DATABASE_URL to a database of that kind, or adopt the runs (`manage.py adopt_runs`).",
            )
        _restore_database(scratch)  # first, since it changes all or nothing where it fails
        for archived, folder in folders().items():
            if (scratch / archived).exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                shutil.move(scratch / archived, folder)
        if (scratch / SECRET).exists():
            (scratch / SECRET).replace(data / SECRET)
    call_command("migrate", verbosity=0)
    began = datetime.fromtimestamp(float(about["time"]), UTC)
    why = f"Restored from a backup of {began:%Y-%m-%d %H:%M} UTC."
    stopped = _stop_all(why)
    _stop_sweeps(why)
    end_interrupted(lambda _: True)
    interrupted = sum(kind.end_restored(why) for kind in KINDS)
    return Restored(runs=Run.objects.count(), stopped=stopped, interrupted=interrupted, time=began)


def _require_empty() -> None:
    try:
        there = User.objects.exists() or Run.objects.exists()
    except (OperationalError, ProgrammingError) as error:
        if connection.vendor != "sqlite" and isinstance(error, OperationalError):
            raise BackupError(
                f"The database cannot be used: {error}",
                remedy="Start it, or change DATABASE_URL. Nothing was restored.",
            ) from None
        there = False  # it has no tables
    if there or any(any(folder.iterdir()) for folder in folders().values() if folder.is_dir()):
        raise BackupError(
            "This installation has users, runs or files.", remedy="Restore into an empty data directory and database."
        )


def _opened(source: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(source)
    except (OSError, tarfile.TarError) as error:
        raise BackupError(f"{source} cannot be read: {error}", remedy="Give a file of `manage.py backup`.") from None


def _about(scratch: Path) -> dict[str, float | str | bool]:
    try:
        about: dict[str, float | str | bool] = json.loads((scratch / ABOUT).read_bytes())
        return about
    except (OSError, ValueError):
        raise BackupError("The archive is not a backup.", remedy="Give a file of `manage.py backup`.") from None


def _restore_database(scratch: Path) -> None:
    connection.close()
    if connection.vendor == "sqlite":
        database = Path(settings.DATABASES["default"]["NAME"])
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        (scratch / SQLITE).replace(database)
    else:
        database_name = str(settings.DATABASES["default"]["NAME"])
        postgresql(
            "pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction",
            f"--dbname={database_name}", str(scratch / POSTGRESQL),
        )  # fmt: skip


def _stop_all(why: str) -> int:
    """Their engines may still run elsewhere, in directories of their own, so none is started or adopted by itself."""
    reason = f"{why} Resume continues from its newest checkpoint."
    started = Run.objects.filter(state__in=STARTED)
    return sum(move(run, RunState.STOPPED, reason=reason, also={"process": {}}) for run in started)


def _stop_sweeps(why: str) -> None:
    """Else they would pass over the runs that were stopped, and start others."""
    reason = f"{why} Resume goes on with its runs."
    Sweep.objects.filter(state=SweepState.RUNNING).update(
        state=SweepState.STOPPED, stopped_because=reason, ended_at=timezone.now()
    )
