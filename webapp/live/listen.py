"""Receives the updates of some groups for the lifetime of its socket, across outages of Redis.

Channels closes a consumer when the layer raises; here the socket stays open and continues on its heartbeats. The
sentinel of the process notices when groups are gone, and joins them again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

from channels.layers import get_channel_layer

from webapp.live.sentinel import Member, Update, end, sentinel_of

log = logging.getLogger(__name__)

Receive = Callable[[Update | None], None]


async def listen(groups: Sequence[str], receive: Receive) -> None:
    """Until cancelled. `receive(None)` means that updates may have been missed: at first, and after each outage."""
    layer: Any = get_channel_layer()
    if layer is None:
        return
    channel = await layer.new_channel()
    sentinel = sentinel_of(layer)
    member = Member(groups=groups, channel=channel, receive=receive)
    try:
        await sentinel.join(member)
        while True:
            _leave_if_cancelled()
            try:
                receive(await _received(layer, channel))
            except Exception as error:  # whatever a layer raises: the rows do not depend on it
                log.info("No updates of %s for now: %s", groups[0], error)
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
