"""One read for all concurrent requests: two hundred pages of a run cost the database as much as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Value = TypeVar("Value")


class Shared(Generic[Key, Value]):
    """`fresh(key)` returns the result of a `read(key)` that starts after the call.

    A call during a read may know of something newer, so it waits for the next read, which is shared by all such calls.
    """

    def __init__(self, read: Callable[[Key], Awaitable[Value]]) -> None:
        self.read = read
        self._reads: WeakKeyDictionary[asyncio.AbstractEventLoop, _Reads[Key, Value]] = WeakKeyDictionary()

    async def fresh(self, key: Key) -> Value:
        reads = self._reads.setdefault(asyncio.get_running_loop(), _Reads())
        next_one = reads.waiting.get(key)
        if next_one is None:
            next_one = asyncio.ensure_future(self._read_after(reads, reads.reading.get(key), key))
            reads.waiting[key] = next_one
        return await asyncio.shield(next_one)  # a page that disconnects does not cancel it for others

    async def _read_after(self, reads: _Reads[Key, Value], before: asyncio.Future[Value] | None, key: Key) -> Value:
        await (asyncio.wait({before}) if before is not None else asyncio.sleep(0))  # calls in the same tick may join
        mine = reads.reading[key] = reads.waiting.pop(key)
        try:
            return await self.read(key)
        finally:
            if reads.reading.get(key) is mine:
                del reads.reading[key]


class _Reads(Generic[Key, Value]):
    """Of one event loop: reads in progress, and reads to start next."""

    def __init__(self) -> None:
        self.reading: dict[Key, asyncio.Future[Value]] = {}
        self.waiting: dict[Key, asyncio.Future[Value]] = {}
