"""Questions to other servers that may never answer: each is asked once at a time, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from django.db import connection

SECONDS = 2.0

Answer = TypeVar("Answer")


class Question(Generic[Answer]):
    """`ask` raises if there is no answer. A frozen server holds one thread, however often it is asked."""

    def __init__(self, name: str, ask: Callable[[], Answer]) -> None:
        self._ask = ask
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._asking: Future[Answer] | None = None

    async def answer(self) -> Answer:
        """Raises what `ask` raises, and `TimeoutError` after two seconds."""
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._question())), SECONDS)

    def _question(self) -> Future[Answer]:
        """The one that is asked at the moment, if any."""
        if self._asking is None or self._asking.done():
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
