"""One reading for all who ask at the same time: two hundred pages of a run cost the database what one does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Value = TypeVar("Value")


class Shared(Generic[Key, Value]):
    """`fresh(key)` gives what `read(key)` finds, by a reading that begins after the call.

    Who asks while a reading is under way may know of something newer than it: the next one, shared by all of them,
    begins when it ends.
    """

    def __init__(self, read: Callable[[Key], Awaitable[Value]]) -> None:
        self.read = read
        self._desks: WeakKeyDictionary[asyncio.AbstractEventLoop, _Desk[Key, Value]] = WeakKeyDictionary()

    async def fresh(self, key: Key) -> Value:
        desk = self._desks.setdefault(asyncio.get_running_loop(), _Desk())
        next_one = desk.waiting.get(key)
        if next_one is None:
            next_one = asyncio.ensure_future(self._read_after(desk, desk.reading.get(key), key))
            desk.waiting[key] = next_one
        return await asyncio.shield(next_one)  # one page that leaves takes it from no other

    async def _read_after(self, desk: _Desk[Key, Value], before: asyncio.Future[Value] | None, key: Key) -> Value:
        await (asyncio.wait({before}) if before is not None else asyncio.sleep(0))  # others of this turn may join
        mine = desk.reading[key] = desk.waiting.pop(key)
        try:
            return await self.read(key)
        finally:
            if desk.reading.get(key) is mine:
                del desk.reading[key]


class _Desk(Generic[Key, Value]):
    """Of one event loop: what is being read, and what is to be read next."""

    def __init__(self) -> None:
        self.reading: dict[Key, asyncio.Future[Value]] = {}
        self.waiting: dict[Key, asyncio.Future[Value]] = {}
