"""A migration adds an index to a table of PostgreSQL while others write to it, and none of ours locks one for long."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.models.fields import NOT_PROVIDED

from tests.launch.deployment import Deployment, wait_for
from tests.on_postgres import find_programs, server
from webapp.online_migrations import AddIndexOnline, RemoveIndexOnline

# what reads or writes whole tables under a lock that keeps writers away
LOCKING = (
    migrations.AddIndex, migrations.RemoveIndex, migrations.AddConstraint, migrations.AlterField,
    migrations.AlterUniqueTogether, migrations.RunPython, migrations.RunSQL,
)  # fmt: skip
FIRST = {"trajectories.0002_word_index"}  # of the first version, as are all 0001
# a migration has this attribute where what it does is safe, with the reason: its tables are small, or it goes in parts
REVIEWED = "short_locks"

ADD = """
from django.db import connection, models
from django.db.migrations.state import ProjectState
from django.apps import apps
from webapp.online_migrations import AddIndexOnline
operation = AddIndexOnline("run", models.Index(fields=["step", "seconds"], name="added_later"))
before = ProjectState.from_apps(apps)
after = before.clone()
operation.state_forwards("runs", after)
with connection.schema_editor(atomic=False) as editor:
    operation.database_forwards("runs", editor, before, after)
"""
IS_VALID = "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname = 'added_later'"
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'"


@pytest.mark.slow
def test_an_index_is_added_while_others_write_also_after_an_attempt_that_failed(tmp_path: Path) -> None:
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    with server(programs) as url, Deployment(tmp_path, url) as one, psycopg.connect(url) as open_one:
        one.prepare()
        one.ask("from webapp.runs.models import Run; [Run.objects.create(name=n, config={}) for n in 'ab']")
        with psycopg.connect(url, autocommit=True) as other:
            # an index that is not valid, as an interrupted attempt leaves it: its values are not unique
            with pytest.raises(psycopg.errors.UniqueViolation):
                other.execute("CREATE UNIQUE INDEX CONCURRENTLY added_later ON runs_run (step)")
            assert other.execute(IS_VALID).fetchone() == (False,)
            open_one.execute("UPDATE runs_run SET step = 1 WHERE name = 'a'")  # and does not commit yet
            command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", ADD]
            adding = subprocess.Popen(command, cwd=one.code, env=one.environment)
            wait_for(lambda: other.execute(WAITS).fetchone() == (1,), "an index that waits for the open transaction")
            other.execute("SET statement_timeout = '5s'")
            other.execute("UPDATE runs_run SET step = 2 WHERE name = 'b'")  # nobody keeps it waiting
            assert adding.poll() is None
            open_one.commit()
            assert adding.wait(60) == 0
            assert other.execute(IS_VALID).fetchone() == (True,)


def locking(operations: list[Operation]) -> list[str]:
    return [type(one).__name__ for one in operations if isinstance(one, LOCKING) and not is_online(one)]


def unknown_to_older_code(operations: list[Operation]) -> list[str]:
    """Columns without which a row of a site or worker that is not upgraded yet could not be added."""
    added = [one for one in operations if isinstance(one, migrations.AddField) and not one.field.many_to_many]
    return [one.name for one in added if not one.field.null and one.field.db_default is NOT_PROVIDED]


def is_online(operation: Operation) -> bool:
    return isinstance(operation, AddIndexOnline | RemoveIndexOnline)


def later_migrations() -> list[Any]:
    """All of ours but those that find no rows."""
    found = []
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        if app.name.startswith("webapp") and folder.is_dir():
            names = sorted(path.stem for path in folder.glob("[0-9]*.py") if f"{app.label}.{path.stem}" not in FIRST)
            names = [name for name in names if not name.startswith("0001")]
            found += [import_module(f"{app.name}.migrations.{name}").Migration for name in names]
    return found


def test_no_migration_locks_a_table_for_long() -> None:
    wrong = {
        migration.__module__: names
        for migration in later_migrations()
        if (names := locking(migration.operations)) and not hasattr(migration, REVIEWED)
    }
    assert not wrong, "use webapp.online_migrations, or say in `short_locks` why it is safe; see CONTRIBUTING.md"


def test_columns_that_are_added_have_defaults_in_the_database() -> None:
    assert [
        (found.__module__, names) for found in later_migrations() if (names := unknown_to_older_code(found.operations))
    ] == []
    fields = {
        "mood": models.TextField(default="calm"),
        "tone": models.TextField(db_default="calm"),
        "left": models.TextField(null=True),
    }
    added = [migrations.AddField("run", name, field) for name, field in fields.items()]
    assert unknown_to_older_code(added) == ["mood"]


def test_operations_that_lock_are_recognised() -> None:
    index = models.Index(fields=["step"], name="by_step")
    field = models.TextField(default="", db_default="")
    assert locking([migrations.AddIndex("run", index), migrations.RunPython(print)]) == ["AddIndex", "RunPython"]
    assert locking([AddIndexOnline("run", index), migrations.AddField("run", "mood", field)]) == []
