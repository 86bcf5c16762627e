"""A pool of connections in an outage: who asks is refused soon, and served as soon as the server is back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import ConnectionHandler, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from pytest_django import DjangoDbBlocker

from tests.on_postgres import PostgreSQL, find_programs
from webapp.databases import POOL_SECONDS, database

pytestmark = pytest.mark.slow

AWAY = 20.0  # seconds, after which a pool that doubled its pauses would next try 12 seconds later


@pytest.fixture
def server(django_db_blocker: DjangoDbBlocker) -> Iterator[PostgreSQL]:
    programs = find_programs()
    if programs is None:
        pytest.skip("needs PostgreSQL's initdb and pg_ctl")
    with PostgreSQL(programs) as one, django_db_blocker.unblock():
        yield one


def answers(connection: BaseDatabaseWrapper) -> bool:
    """As a request does, which gives its connection back."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except OperationalError:
        return False
    finally:
        connection.close()


def test_after_an_outage_the_pool_serves_as_soon_as_the_server_is_back(server: PostgreSQL, tmp_path: Path) -> None:
    connection = ConnectionHandler({"default": database(server.url, tmp_path, pool=2)})["default"]
    assert answers(connection)
    server.stop("immediate")
    until = time.monotonic() + AWAY
    while (asked := time.monotonic()) < until:
        assert not answers(connection)
        assert time.monotonic() - asked < POOL_SECONDS + 2
    server.start()
    back = time.monotonic()
    while not answers(connection):
        assert time.monotonic() - back < 4
    connection.close_pool()
