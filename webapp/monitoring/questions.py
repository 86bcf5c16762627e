"""Questions to other servers that may never answer: each is asked once at a time, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Generic, TypeVar

from django.db import connection

SECONDS = 2.0
PUBLIC_SECONDS = 1.0  # anyone may ask the probes, and a question to PostgreSQL is a new connection and a process there

Answer = TypeVar("Answer")


class Question(Generic[Answer]):
    """`ask` raises if there is no answer. A frozen server holds one thread, however often it is asked. An answer is
    given again for `repeated_seconds` from when it was asked for."""

    def __init__(self, name: str, ask: Callable[[], Answer], *, repeated_seconds: float = 0.0) -> None:
        self._ask = ask
        self._repeated_seconds = repeated_seconds
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._asking: Future[Answer] | None = None
        self._asked_at = 0.0

    async def answer(self) -> Answer:
        """Raises what `ask` raises, and `TimeoutError` after two seconds."""
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._question())), SECONDS)

    def _question(self) -> Future[Answer]:
        """The one that is asked at the moment, or that was a moment ago."""
        is_old = monotonic() - self._asked_at >= self._repeated_seconds
        if self._asking is None or (self._asking.done() and is_old):
            self._asked_at = monotonic()
            self._asking = self._executor.submit(self._asked)
        return self._asking

    def _asked(self) -> Answer:
        try:
            return self._ask()
        finally:
            connection.close()


def ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
