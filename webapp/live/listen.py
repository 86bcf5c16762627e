"""Receives the updates of some groups for the lifetime of its socket, across outages of Redis.

Channels closes a consumer when the layer raises; here the socket stays open and continues on its heartbeats. The
sentinel of the process notices when groups are gone, and joins them again. The sockets of a process that listen to the
same group share one channel: the layer hands an update over once for all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from webapp.live.sentinel import Member, Update, end, sentinel_of

log = logging.getLogger(__name__)

Receive = Callable[[Update | None], None]


async def listen(groups: Sequence[str], receive: Receive) -> None:
    """Until cancelled. `receive(None)` means that updates may have been missed: at first, and after each outage."""
    layer: Any = get_channel_layer()
    if layer is None:
        return
    listener = Listener(receive)
    shared = [_shared(layer, group) for group in groups]
    try:
        for one in shared:
            one.add(listener)
        await asyncio.Event().wait()
    finally:
        for one in shared:
            await one.remove(listener)


class Listener:
    """Of one call of `listen`: equal to itself alone, also where two have the same `receive`."""

    def __init__(self, receive: Receive) -> None:
        self.receive = receive


class SharedGroup:
    """The channel of a process in a group, and who listens to it."""

    def __init__(self, layer: Any, group: str) -> None:
        self.listeners: set[Listener] = set()
        self.joined = False
        self.task = asyncio.create_task(_receive_all(layer, group, self._hand_over))

    def add(self, listener: Listener) -> None:
        self.listeners.add(listener)
        if self.joined:
            listener.receive(None)

    async def remove(self, listener: Listener) -> None:
        """The last one ends it."""
        self.listeners.discard(listener)
        if not self.listeners:
            self.task.cancel()  # once: a second one would interrupt how it leaves
            await asyncio.wait({self.task})

    def _hand_over(self, update: Update | None) -> None:
        self.joined = True
        for listener in list(self.listeners):
            listener.receive(update)


_groups: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[int, str], SharedGroup]] = WeakKeyDictionary()


def _shared(layer: Any, group: str) -> SharedGroup:
    """The one of the running event loop. One that nobody listens to any more is on its way out."""
    of_loop = _groups.setdefault(asyncio.get_running_loop(), {})
    key = (id(layer), group)
    found = of_loop.get(key)
    if found is None or not found.listeners:
        found = of_loop[key] = SharedGroup(layer, group)
        found.task.add_done_callback(lambda _: of_loop.pop(key, None) if of_loop.get(key) is found else None)
    return found


async def _receive_all(layer: Any, group: str, receive: Receive) -> None:
    channel = await layer.new_channel()
    sentinel = sentinel_of(layer)
    member = Member(groups=[group], channel=channel, receive=receive)
    try:
        await sentinel.join(member)
        while True:
            _leave_if_cancelled()
            try:
                receive(await _received(layer, channel))
            except Exception as error:  # whatever a layer raises: the rows do not depend on it
                log.info("No updates of %s for now: %s", group, error)
                await sentinel.next_look()
    finally:
        with contextlib.suppress(Exception):
            await sentinel.leave(member)


async def _received(layer: Any, channel: str) -> Update:
    receiving = asyncio.ensure_future(layer.receive(channel))
    try:
        await asyncio.wait({receiving})
        update: Update = receiving.result()
        return update
    finally:
        await end(receiving)


def _leave_if_cancelled() -> None:
    """For a cancellation that the Redis client has swallowed."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
