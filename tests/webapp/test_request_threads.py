"""Requests run in threads that are used again, with their connections; those at the same time in different ones."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connection, connections
from django.http import HttpRequest, JsonResponse
from django.urls import path
from pytest_django import Settings

from webapp import request_threads
from webapp.request_threads import ThreadedHandler

pytestmark = pytest.mark.django_db(transaction=True)

together = threading.Event()


def where(request: HttpRequest) -> JsonResponse:
    """The thread, and the connection that it has after a query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"thread": threading.get_ident(), "connection": id(connection.connection)})


def waiting(request: HttpRequest) -> JsonResponse:
    together.wait(10)
    return where(request)


def mark(request: HttpRequest) -> JsonResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM mark")
        return JsonResponse({"mark": cursor.fetchone()[0]})


urlpatterns = [path("where", where), path("waiting", waiting), path("mark", mark)]


@pytest.fixture
def handler(settings: Settings) -> Iterator[ThreadedHandler]:
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    together.clear()
    made = ThreadedHandler()
    yield made
    made.end_threads()


def request_of(handler: ThreadedHandler, address: str) -> ApplicationCommunicator:
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": address, "query_string": b"", "headers": headers}
    return ApplicationCommunicator(handler, scope)


async def answer_of(request: ApplicationCommunicator) -> dict[str, Any]:
    assert (await request.receive_output(10))["status"] == 200
    body = (await request.receive_output(10))["body"]
    await request.wait(10)
    return dict(json.loads(body))


async def asked(handler: ThreadedHandler, address: str) -> dict[str, Any]:
    request = request_of(handler, address)
    await request.send_input({"type": "http.request"})
    return await answer_of(request)


async def test_the_next_request_has_the_thread_and_the_connection_of_the_one_before(handler: ThreadedHandler) -> None:
    first, second = [await asked(handler, "/where") for _ in range(2)]
    assert first == second
    assert first["thread"] != threading.get_ident()


async def test_requests_at_the_same_time_have_threads_and_connections_of_their_own(handler: ThreadedHandler) -> None:
    slow = asyncio.create_task(asked(handler, "/waiting"))
    await asyncio.sleep(0.1)
    quick = await asked(handler, "/where")
    together.set()
    slow_one = await slow
    assert slow_one["thread"] != quick["thread"] and slow_one["connection"] != quick["connection"]


async def test_a_request_whose_client_leaves_gives_its_thread_back_once_the_view_has_ended(
    handler: ThreadedHandler,
) -> None:
    request = request_of(handler, "/waiting")
    await request.send_input({"type": "http.request"})
    await asyncio.sleep(0.1)
    await request.send_input({"type": "http.disconnect"})
    await asyncio.sleep(0.1)
    assert not handler.idle
    together.set()
    await request.wait(10)
    assert len(handler.idle) == 1
    await asked(handler, "/where")
    assert len(handler.idle) == 1


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL is no file")
async def test_a_database_file_that_was_replaced_is_noticed_by_the_next_request(
    handler: ThreadedHandler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        with closing(sqlite3.connect(tmp_path / name)) as database:
            database.execute(f"CREATE TABLE mark AS SELECT '{name}' AS value")
            database.commit()
    monkeypatch.setitem(connections.settings["default"], "NAME", str(tmp_path / "first"))
    assert await asked(handler, "/mark") == {"mark": "first"}
    (tmp_path / "second").replace(tmp_path / "first")
    assert await asked(handler, "/mark") == {"mark": "second"}


async def test_threads_beyond_the_limit_end_after_their_request(
    handler: ThreadedHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_threads, "MOST_IDLE", 2)
    asking = [asyncio.create_task(asked(handler, "/waiting")) for _ in range(4)]
    await asyncio.sleep(0.2)
    together.set()
    found = await asyncio.gather(*asking)
    assert len({one["thread"] for one in found}) == 4
    assert len(handler.idle) == 2
