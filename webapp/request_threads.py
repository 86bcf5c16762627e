"""Requests in threads that are used again, each with all of its middleware at once.

Django's own handler gives each request a new thread, which opens a database connection first, and goes back and forth
between it and the event loop for each middleware. `benchmarks.request_threads` measures the difference.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

MOST_IDLE = 16  # threads that are kept, each with a connection
CONNECTION_SECONDS = 60  # until a thread opens a new connection, at its next request
_opened = threading.local()  # `file`: device and inode of the database that a thread has open


class ThreadedHandler(ASGIHandler):
    """An ASGI application. There are as many threads as requests at once."""

    def __init__(self) -> None:
        self.idle: list[ThreadPoolExecutor] = []
        super().__init__()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self._answer)(request)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        _close_if_replaced()
        return self.get_response(request)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        thread = self.idle.pop() if self.idle else _new_thread()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            if len(self.idle) < MOST_IDLE:
                self.idle.append(thread)
            else:
                _end(thread)

    def end_threads(self) -> None:
        """Those that wait for requests, with their connections."""
        while self.idle:
            _end(self.idle.pop())


def _new_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="request", initializer=_keep_connection)


def _keep_connection() -> None:
    """A pool keeps its connections itself."""
    connection = connections[DEFAULT_DB_ALIAS]
    if not connection.settings_dict["OPTIONS"].get("pool"):
        connection.settings_dict = {**connection.settings_dict, "CONN_MAX_AGE": CONNECTION_SECONDS}


def _close_if_replaced() -> None:
    """Of SQLite: a connection stays with its file, also when that is removed and another one has its name."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite":
        return
    found = None
    with contextlib.suppress(OSError):
        status = Path(connection.settings_dict["NAME"]).stat()
        found = (status.st_dev, status.st_ino)
    if found != getattr(_opened, "file", None):
        connection.close()
        _opened.file = found


def _end(thread: ThreadPoolExecutor) -> None:
    thread.submit(connections.close_all)
    thread.shutdown(wait=False)
