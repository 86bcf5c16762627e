"""A SQLite database with all tables and no rows. `migrate` takes four seconds of a processor, so each process of tests
runs it once, and copies the file after that."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from tests.launch.installation import REPOSITORY

NAME = "starboard.sqlite3"


def put_empty_database(data_dir: Path) -> None:
    """Into a data directory, which is created where there is none."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(_migrated())) as source, closing(sqlite3.connect(data_dir / NAME)) as copy:
        source.backup(copy)
    (data_dir / NAME).chmod(0o600)


@cache
def _migrated() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="starboard-tables-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--skip-checks", "--verbosity=0"],
        cwd=REPOSITORY,
        env={**environment, "STARBOARD_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.settings"},
        check=True,
    )
    return folder / NAME
