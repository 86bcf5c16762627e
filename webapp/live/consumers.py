"""The base of the WebSocket consumers. Updates only wake them: what they send is read from rows after their cursor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError

from webapp.live.access import NOT_FOUND, SIGNED_OUT, user_of
from webapp.live.listen import listen
from webapp.live.sentinel import Update
from webapp.projects.reader import set_reader
from webapp.updates import SESSIONS_ENDED, user_group
from webapp.whole_numbers import whole_number

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
COALESCE_SECONDS = 0.05  # between two readings; the first update after a pause is sent at once
LEAVING_SECONDS = 2.0
LONGEST_MESSAGE = 1024


class LiveConsumer(AsyncWebsocketConsumer):
    """Authentication, heartbeats, pings and updates, common to all sockets.

    1. `connect` refuses users who are not signed in, then starts a listener for the group's updates and a sender.
    2. The sender sends hello, then waits for an update or the next heartbeat, and has the subclass send what is new.
    3. Every heartbeat closes the socket of an ended session, or of a user who may no longer read its object, and only
       then reads the rows, which makes up for lost updates; an update to the user's group says that a session may have
       ended.
    """

    channel_layer_alias = "none"  # `listen` does it: the base class would close the socket when the layer fails
    heartbeat_seconds = HEARTBEAT_SECONDS
    group = ""

    async def connect(self) -> None:
        self.updated = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.closed = False
        self.session_may_have_ended = False
        self.read_at = 0.0
        self.check_at = time.monotonic() + self.heartbeat_seconds  # of access, at the latest
        user = await user_of(self.scope)
        if user is None:
            await self._refuse(SIGNED_OUT)
            return
        self._read_as(user)
        if not await self.prepare():
            await self._refuse(NOT_FOUND)
            return
        await self.accept()
        self.tasks = [
            asyncio.create_task(listen((self.group, user_group(user.pk)), self._receive)),
            asyncio.create_task(self._send_updates()),
        ]

    async def disconnect(self, code: int) -> None:
        self.closed = True
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=LEAVING_SECONDS)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        message = _parsed(text_data)
        if message.get("kind") == "ping":
            await self.say({"kind": "pong", "time": message.get("time"), "server_time": time.time()})

    async def say(self, message: dict[str, Any]) -> None:
        await self.send(text_data=as_text(message))

    async def send(self, text_data: str | None = None, bytes_data: bytes | None = None, close: bool = False) -> None:
        try:
            await super().send(text_data, bytes_data, close)
        except OSError:  # of ASGI: the browser has left, and `disconnect` follows
            self.closed = True

    def receive_update(self, update: Update | None) -> None:
        """An update only wakes the sender; its content is not read."""
        self.updated.set()

    async def prepare(self) -> bool:
        """Reads the object of the socket and sets its group; False if there is none."""
        raise NotImplementedError

    async def is_readable(self) -> bool:
        """Whether the user may still read the object of the socket: roles change while it is open."""
        return True

    async def hello(self) -> None:
        raise NotImplementedError

    async def catch_up(self) -> None:
        """Sends everything that is new in the rows. Between messages of which there may be many it calls
        `may_continue`."""
        raise NotImplementedError

    async def beat(self) -> None:
        raise NotImplementedError

    async def may_continue(self, *, look: bool = False) -> bool:
        """False for a socket that is closed, also by this: it looks for the session and the user's roles if `look`, if
        an update says so, or if the last look is a heartbeat ago."""
        if self.closed:
            return False
        if look or self.session_may_have_ended or time.monotonic() >= self.check_at:
            return await self._is_allowed()
        return True

    async def close(self, code: Any = None, reason: str | None = None) -> None:
        self.closed = True
        await super().close(code=code, reason=reason)

    async def _refuse(self, code: int) -> None:
        await self.accept()  # a close code reaches a browser only on an open socket
        await self.close(code=code)

    def _read_as(self, user: User) -> None:
        set_reader(lambda: user)

    def _receive(self, update: Update | None) -> None:
        if update is not None and update["type"] == SESSIONS_ENDED:
            self.session_may_have_ended = True
            self.updated.set()
        else:
            self.receive_update(update)

    async def _send_updates(self) -> None:
        try:
            await self.hello()
            await self.catch_up()
            beat_at = time.monotonic() + self.heartbeat_seconds
            while not self.closed:
                await self._wait_for_update(beat_at - time.monotonic())
                is_beat = time.monotonic() >= beat_at
                if not await self.may_continue(look=is_beat):  # also where a cancellation came together with an update
                    return
                await self.catch_up()
                if is_beat and not self.closed:
                    beat_at = time.monotonic() + self.heartbeat_seconds
                    await self.beat()
        except Exception as error:
            is_outage = isinstance(error, OperationalError | InterfaceError)
            message = "The database is not available" if is_outage else "The socket failed"
            log.log(
                logging.WARNING if is_outage else logging.ERROR,
                "%s: the browser that follows %s will connect again",
                message,
                self.group,
                exc_info=not is_outage,  # there may be hundreds
            )
            with contextlib.suppress(Exception):  # it may be closed already
                await self.close(code=1011)

    async def _wait_for_update(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.updated.wait(), max(0.0, seconds))
            await asyncio.sleep(max(0.0, self.read_at + COALESCE_SECONDS - time.monotonic()))
        self.read_at = time.monotonic()
        self.updated.clear()

    async def _is_allowed(self) -> bool:
        """Closes the socket if not."""
        self.session_may_have_ended = False
        self.check_at = time.monotonic() + self.heartbeat_seconds
        user = await user_of(self.scope)
        if user is None:
            await self.close(code=SIGNED_OUT)
            return False
        self._read_as(user)
        if not await self.is_readable():
            await self.close(code=NOT_FOUND)
            return False
        return True


def as_text(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))


def _parsed(text: str | None) -> dict[str, Any]:
    """A small JSON object from the browser; empty for anything else."""
    try:
        message = json.loads(text or "") if len(text or "") <= LONGEST_MESSAGE else {}
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def cursor_of(query: bytes) -> int:
    """The cursor in `?after=`; 0 if it is absent or invalid."""
    text = parse_qs(query.decode("latin-1")).get("after", ["0"])[0]
    return whole_number(text) or 0
