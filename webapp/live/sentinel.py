"""Notices that the groups of this process are gone from the channel layer, and joins them again.

Redis keeps groups in memory only, and forgets members after a day: an emptied or restarted Redis raises nothing, and
updates stop. So each event loop has one group more, to which it sends an update every half second. If none comes back
in time, all members of all groups join again as soon as one does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

log = logging.getLogger(__name__)

Update = dict[str, Any]
LOOK_SECONDS = 0.5  # between two looks
ECHO_SECONDS = 1.0  # within which the update comes back while groups are as they should be
CANCEL_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Member:
    groups: Sequence[str]
    channel: str
    receive: Callable[[Update | None], None]


class Sentinel:
    """Of one event loop and channel layer; it looks while there are members."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.members: set[Member] = set()
        self.whole = True  # all members are in their groups, as far as is known
        self._group = f"sentinel.{uuid.uuid4().hex}"
        self._channel = ""
        self._echo = asyncio.Event()
        self._looked = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def join(self, member: Member) -> None:
        """Its `receive(None)` is called when it is in its groups, which may be after an outage."""
        self.members.add(member)
        if not self._tasks:
            self._channel = await self.layer.new_channel()
            self._tasks = {asyncio.create_task(self._look()), asyncio.create_task(self._hear())}
        try:
            await self._add(member)
        except Exception as error:  # whatever a layer raises
            log.info("Updates of %s begin after an outage: %s", member.groups[0], error)
            self.whole = False
        else:
            member.receive(None)

    async def leave(self, member: Member) -> None:
        self.members.discard(member)
        if not self.members:
            tasks, self._tasks = self._tasks, set()
            for task in tasks:
                await end(task)
            await self.layer.group_discard(self._group, self._channel)
        await self._discard(member)

    async def next_look(self) -> None:
        await self._looked.wait()

    async def _add(self, member: Member) -> None:
        for group in member.groups:
            await self.layer.group_add(group, member.channel)

    async def _discard(self, member: Member) -> None:
        for group in member.groups:
            await self.layer.group_discard(group, member.channel)

    async def _hear(self) -> None:
        while True:
            try:
                await self.layer.receive(self._channel)
                self._echo.set()
            except Exception:  # `_look` notices
                await self.next_look()

    async def _look(self) -> None:
        with contextlib.suppress(Exception):
            await self.layer.group_add(self._group, self._channel)
        while True:
            heard = await self._hears_itself()
            if not heard:
                self.whole = False
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(self.layer.group_add(self._group, self._channel), ECHO_SECONDS)
            elif not self.whole:
                await self._join_all()
            looked, self._looked = self._looked, asyncio.Event()
            looked.set()
            await asyncio.sleep(LOOK_SECONDS if heard else 0.1)

    async def _hears_itself(self) -> bool:
        self._echo.clear()
        try:
            async with asyncio.timeout(ECHO_SECONDS):
                await self.layer.group_send(self._group, {"type": "sentinel"})
                await self._echo.wait()
        except Exception:  # too late, or whatever a layer raises
            return False
        return True

    async def _join_all(self) -> None:
        self.whole = True  # unless one fails
        log.info("Updates come again; %d channels join their groups again.", len(self.members))
        for member in list(self.members):
            try:
                await self._add(member)
            except Exception as error:
                log.info("The groups cannot be joined again yet: %s", error)
                self.whole = False
                return
            if member in self.members:
                member.receive(None)
            else:  # it left meanwhile
                await self._discard(member)


async def end(task: asyncio.Future[Any]) -> None:
    """The Redis client may swallow a cancellation, so one is repeated until it works."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_SECONDS)


_sentinels: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Sentinel]] = WeakKeyDictionary()


def sentinel_of(layer: Any) -> Sentinel:
    """The one of the running event loop."""
    of_loop = _sentinels.setdefault(asyncio.get_running_loop(), {})
    if id(layer) not in of_loop:  # the sentinel holds the layer, so its id stays its own
        of_loop[id(layer)] = Sentinel(layer)
    return of_loop[id(layer)]
