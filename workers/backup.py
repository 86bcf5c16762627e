"""Backups: the database as of one moment, then the files of runs and evaluations, in one tar archive.

Engines and the site may go on meanwhile. Files only grow, so those of a backup have all that its database knows of, and
what they have besides is read by the workers after a restore.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db import connection

from engine.errors import StarboardError

ABOUT, SQLITE, POSTGRESQL, SECRET = "about.json", "database.sqlite3", "database.pgdump", "secret_key"
FOLDERS = ("evaluations", "imports", "preflights")  # of the data directory, besides the runs
CHECKPOINTS = "checkpoints"
NOT_COPIED = ("lock", "control.json", "heartbeat.json", "newest_event.json")


class BackupError(StarboardError):
    """A backup that cannot be made or restored."""


def folders() -> dict[str, Path]:
    """What a backup has files of, by the name in the archive."""
    data = Path(settings.STARBOARD_DATA_DIR)
    return {"runs": Path(settings.RUNS_DIR), **{name: data / name for name in FOLDERS}}


def back_up(target: Path, *, checkpoints: bool = True) -> int:
    """Writes the archive; returns its size in bytes. Without `checkpoints`, runs can be read but not resumed."""
    if target.exists():
        raise BackupError(f"{target} exists.", remedy="Give a name that is not taken.")
    part = target.with_name(f"{target.name}.part")
    try:
        with tarfile.open(part, "x") as archive:
            part.chmod(0o600)
            about = {"database": connection.vendor, "time": time.time(), "checkpoints": checkpoints}
            _add_bytes(archive, ABOUT, json.dumps(about).encode())
            _add_database(archive)
            secret = Path(settings.STARBOARD_DATA_DIR) / SECRET
            if secret.exists():
                _add_bytes(archive, SECRET, secret.read_bytes())
            for name, folder in folders().items():
                _add_folder(archive, name, folder, checkpoints=checkpoints)
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def _add_database(archive: tarfile.TarFile) -> None:
    with tempfile.TemporaryDirectory(dir=settings.STARBOARD_DATA_DIR, prefix=".backup-") as scratch:
        if connection.vendor == "sqlite":
            copy = Path(scratch) / SQLITE
            source, target = sqlite3.connect(settings.DATABASES["default"]["NAME"]), sqlite3.connect(copy)
            with source, target:
                source.backup(target)
            source.close()
            target.close()
        else:
            copy = Path(scratch) / POSTGRESQL
            postgresql("pg_dump", "--format=custom", "--no-owner", f"--file={copy}")
        archive.add(copy, arcname=copy.name)


def postgresql(program: str, *arguments: str) -> None:
    """Runs a program of PostgreSQL on the site's database; its password is in no argument."""
    chosen: dict[str, Any] = connection.get_connection_params()
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password", "PGDATABASE": "dbname"}
    given = {variable: str(chosen[name]) for variable, name in names.items() if chosen.get(name)}
    try:
        subprocess.run([program, *arguments], env={**os.environ, **given}, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise BackupError(f"{program} is not on the PATH.", remedy="Install PostgreSQL's client programs.") from None
    except subprocess.CalledProcessError as error:
        raise BackupError(f"{program} failed: {error.stderr.strip()}", remedy="Read its message.") from None


def _add_folder(archive: tarfile.TarFile, name: str, folder: Path, *, checkpoints: bool) -> None:
    for directory, below, files in os.walk(folder):
        path = Path(directory)
        if path.name == CHECKPOINTS and not checkpoints:
            below.clear()
        below[:] = sorted(one for one in below if not one.endswith(".part"))
        with ExitStack() as opened:
            for file, stream in _open_all(opened, path, files):
                _add_stream(archive, f"{name}/{file.relative_to(folder)}", stream)
            if path.parent.name == CHECKPOINTS:  # all files of a checkpoint, or none if it is being removed
                for file, stream in _open_below(opened, path, below):
                    _add_stream(archive, f"{name}/{file.relative_to(folder)}", stream)
                below.clear()


def _open_all(opened: ExitStack, folder: Path, files: list[str]) -> Iterator[tuple[Path, BinaryIO]]:
    found = []
    for file in sorted(files):
        if file in NOT_COPIED or file.endswith(".part"):
            continue
        try:
            found.append((folder / file, opened.enter_context((folder / file).open("rb"))))
        except FileNotFoundError:
            continue  # it was removed since the folder was listed
    return iter(found)


def _open_below(opened: ExitStack, folder: Path, below: list[str]) -> Iterator[tuple[Path, BinaryIO]]:
    for name in below:
        for directory, _, files in os.walk(folder / name):
            yield from _open_all(opened, Path(directory), files)


def _add_stream(archive: tarfile.TarFile, name: str, stream: BinaryIO) -> None:
    """As many bytes as the file has now; what is appended meanwhile is left out."""
    found = os.fstat(stream.fileno())
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = found.st_size, found.st_mtime, 0o600
    archive.addfile(info, stream)


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(data), time.time(), 0o600
    archive.addfile(info, io.BytesIO(data))
