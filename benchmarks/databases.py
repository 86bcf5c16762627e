"""The site that a benchmark measures, in a new database: SQLite, the one that `DATABASE_URL` names, or with
`--postgres` a PostgreSQL server of its own with that server's default settings (`apt install postgresql`).
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.on_postgres import PostgreSQL, find_programs

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the site's own process; numpy reads it when it is imported


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server of its own, in place of SQLite")


@contextlib.contextmanager
def database(postgres: bool) -> Iterator[PostgreSQL | None]:
    """The server, in `DATABASE_URL` during the block; None without one."""
    if not postgres:
        yield None
        return
    programs = find_programs()
    if programs is None:
        raise SystemExit("PostgreSQL's initdb and pg_ctl were not found: apt install postgresql")
    with PostgreSQL(programs, durable=True) as one:
        before = os.environ.get("DATABASE_URL")
        os.environ["DATABASE_URL"] = one.url
        try:
            yield one
        finally:
            os.environ.pop("DATABASE_URL")
            if before is not None:
                os.environ["DATABASE_URL"] = before


def prepare_site(scratch: Path) -> None:
    """Django in this process, with tables and nothing in them."""
    os.environ |= {"STARBOARD_DATA_DIR": str(scratch / "site"), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    (scratch / "site").mkdir()
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


@cache
def client_of_site() -> Any:
    """One for all requests: the middleware of each looks through all static files."""
    from django.test import Client

    return Client(headers={"host": "localhost:8000"})


def signed_in() -> Any:
    """That client in a new session, which remembers nothing of the pages that were shown before."""
    from django.contrib.auth.models import User

    client = client_of_site()
    client.logout()
    client.force_login(User.objects.get_or_create(username="bench")[0])
    return client


def analyze() -> None:
    """What PostgreSQL does by itself within a minute after many rows were added, to know how many there are."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def vendor() -> str:
    from django.db import connection

    return connection.vendor
