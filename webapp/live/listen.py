"""Receives the updates of some groups for the lifetime of its socket, across outages of Redis.

Channels closes a consumer when the layer raises; here the socket stays open and continues on its heartbeats.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

Update = dict[str, Any]
Receive = Callable[[Update | None], None]
REJOIN_SECONDS = 3600.0  # a group forgets its members after a day
RETRY_SECONDS = 2.0
CANCEL_SECONDS = 0.5


async def listen(groups: Sequence[str], receive: Receive, *, rejoin_seconds: float = REJOIN_SECONDS) -> None:
    """Until cancelled. `receive(None)` means that updates may have been missed: at first, and after each outage."""
    while True:
        try:
            await _listen_while_it_lasts(groups, receive, rejoin_seconds)
        except Exception as error:  # whatever a layer raises: the rows do not depend on it
            log.info("No updates of %s for now: %s", groups[0], error)
        await asyncio.sleep(RETRY_SECONDS)


async def _listen_while_it_lasts(groups: Sequence[str], receive: Receive, rejoin_seconds: float) -> None:
    layer: Any = get_channel_layer()
    if layer is None:
        return
    channel = await layer.new_channel()
    try:
        while True:
            for group in groups:
                await layer.group_add(group, channel)
                _leave_if_cancelled()
            receive(None)
            await _receive_until(time.monotonic() + rejoin_seconds, layer, channel, receive)
    finally:
        for group in groups:
            with contextlib.suppress(Exception):
                await layer.group_discard(group, channel)


async def _receive_until(deadline: float, layer: Any, channel: str, receive: Receive) -> None:
    while (left := deadline - time.monotonic()) > 0:
        receiving = asyncio.ensure_future(layer.receive(channel))
        try:
            await asyncio.wait({receiving}, timeout=left)
            if receiving.done():
                receive(receiving.result())
        finally:
            await _end(receiving)


# The Redis client may swallow a cancellation. So one is repeated until it works, and a task asks whether it had one.


async def _end(task: asyncio.Future[Any]) -> None:
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_SECONDS)


def _leave_if_cancelled() -> None:
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
