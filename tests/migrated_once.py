"""Where several processes run tests, one of them applies all migrations, and the others copy its database."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from typing import Any

from django.db import connection

MIGRATED = "migrated"


def migrate_once(folder: Path) -> None:
    """For the processes that share `folder`: those after the first find nothing left to migrate."""
    create = connection.creation.create_test_db
    share = on_postgresql if connection.vendor == "postgresql" else on_sqlite

    def create_test_db(*positional: Any, **options: Any) -> str:
        with (folder / f"{MIGRATED}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            is_first = not (folder / MIGRATED).exists()
            if not is_first:
                share(folder / MIGRATED)
            name = str(create(*positional, **options))
            if is_first:
                keep(folder / MIGRATED, name)
        return name

    connection.creation.create_test_db = create_test_db


def keep(migrated: Path, name: str) -> None:
    """A copy of the database; on PostgreSQL the file has its name."""
    if connection.vendor == "postgresql":
        connection.close()  # a database that is in use cannot be copied
        connection.creation.clone_test_db(MIGRATED, verbosity=0)
        migrated.write_text(f"{name}_{MIGRATED}")
    else:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(migrated)])


def on_sqlite(migrated: Path) -> None:
    create_empty = connection.creation._create_test_db

    def create_copy(*positional: Any, **options: Any) -> str:
        return str(shutil.copyfile(migrated, create_empty(*positional, **options)))

    connection.creation._create_test_db = create_copy


def on_postgresql(migrated: Path) -> None:
    connection.settings_dict["TEST"]["TEMPLATE"] = migrated.read_text()
