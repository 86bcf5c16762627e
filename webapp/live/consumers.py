"""The sockets' servers. News only wakes them: what they send they read from the rows after their cursor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from webapp.live.access import NOT_FOUND, SIGNED_OUT, is_signed_in
from webapp.live.listen import News, listen
from webapp.live.reading import events_after
from webapp.live.shared import Shared
from webapp.run_pages.page_state import page_state
from webapp.runs.models import Run
from webapp.runs.states import TERMINAL, RunState
from webapp.updates import RUNS_GROUP, run_group
from webapp.whole_numbers import whole_number

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
COALESCE_SECONDS = 0.05  # between two readings; the first news after a silence waits for nothing
EVENTS_PER_MESSAGE = 500
LEAVING_SECONDS = 2.0
LONGEST_MESSAGE = 1024
LIVE_STATES = [state for state in RunState if state not in TERMINAL]


class LiveConsumer(AsyncWebsocketConsumer):
    """What both sockets share: signing in, beating, answering pings, and waking up for news.

    1. `connect` refuses strangers, then starts an ear for the group's news and a pump.
    2. The pump says hello, then waits for news or for the next heartbeat, and lets the subclass send what is new.
    3. Every heartbeat reads too, so that lost news is made good, and closes the socket of a session that ended.
    """

    channel_layer_alias = "none"  # `listen` does it: this base would end the socket with the layer
    heartbeat_seconds = HEARTBEAT_SECONDS
    group = ""

    async def connect(self) -> None:
        self.news = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.closed = False
        self.read_at = 0.0
        if not await is_signed_in(self.scope):
            await self._refuse(SIGNED_OUT)
            return
        if not await self.prepare():
            await self._refuse(NOT_FOUND)
            return
        await self.accept()
        self.tasks = [asyncio.create_task(listen(self.group, self.hear)), asyncio.create_task(self._pump())]

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
        await self.send(text_data=_text(message))

    def hear(self, news: News | None) -> None:
        """News is never read for its content, only for its coming."""
        self.news.set()

    async def prepare(self) -> bool:
        """Reads what the socket is about and names its group; False if there is no such thing."""
        raise NotImplementedError

    async def hello(self) -> None:
        raise NotImplementedError

    async def catch_up(self) -> None:
        """Sends everything that is new in the rows."""
        raise NotImplementedError

    async def beat(self) -> None:
        raise NotImplementedError

    async def close(self, code: Any = None, reason: str | None = None) -> None:
        self.closed = True
        await super().close(code=code, reason=reason)

    async def _refuse(self, code: int) -> None:
        await self.accept()  # a close code reaches a browser only on an open socket
        await self.close(code=code)

    async def _pump(self) -> None:
        try:
            await self.hello()
            await self.catch_up()
            beat_at = time.monotonic() + self.heartbeat_seconds
            while not self.closed:
                await self._wait_for_news(beat_at - time.monotonic())
                if self.closed:  # a cancellation that came together with news is swallowed
                    return
                await self.catch_up()
                if time.monotonic() >= beat_at:
                    beat_at = time.monotonic() + self.heartbeat_seconds
                    await self._heartbeat()
        except Exception:
            log.exception("The socket of %s failed; its browser will connect again", self.group)
            with contextlib.suppress(Exception):  # it may be closed already
                await self.close(code=1011)

    async def _wait_for_news(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.news.wait(), max(0.0, seconds))
            await asyncio.sleep(max(0.0, self.read_at + COALESCE_SECONDS - time.monotonic()))
        self.read_at = time.monotonic()
        self.news.clear()

    async def _heartbeat(self) -> None:
        if not await is_signed_in(self.scope):
            await self.close(code=SIGNED_OUT)
            return
        await self.beat()


class RunConsumer(LiveConsumer):
    """One run: its events after the cursor, without a gap, and its state whenever that changes."""

    async def prepare(self) -> bool:
        self.run_id = self.scope["url_route"]["kwargs"]["run_id"]
        self.group = run_group(self.run_id)
        self.cursor = cursor_of(self.scope["query_string"])
        self.state: dict[str, Any] = {}
        run = await Run.objects.filter(pk=self.run_id).afirst()
        return run is not None

    async def hello(self) -> None:
        told = await STATES.fresh(self.run_id)
        self.state = told.state if told else {}
        last_seq = self.state.get("last_seq", 0)
        self.cursor = min(self.cursor, last_seq)
        await self.say({"kind": "hello", "last_seq": last_seq, "state": self.state})

    async def catch_up(self) -> None:
        """Events first: a curve does not wait for the state."""
        while (events := await EVENTS.fresh((self.run_id, self.cursor))).count:
            self.cursor = events.last_seq
            await self.send(text_data=events.message)
            if events.count < EVENTS_PER_MESSAGE:
                break
        await self._send_state()

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "last_seq": self.cursor, "time": time.time()})

    async def _send_state(self) -> None:
        told = await STATES.fresh(self.run_id)
        if told is None:
            await self.close(code=NOT_FOUND)
        elif told.state != self.state:
            self.state = told.state
            await self.send(text_data=told.message)


@dataclass(frozen=True, slots=True)
class Events:
    """The message that a page gets, written once for all of them."""

    count: int
    last_seq: int
    message: str


@dataclass(frozen=True, slots=True)
class State:
    state: dict[str, Any]
    message: str


@database_sync_to_async
def _events(key: tuple[str, int]) -> Events:
    run_id, cursor = key
    events = events_after(Run(pk=run_id), cursor, EVENTS_PER_MESSAGE)
    last_seq = events[-1]["seq"] if events else cursor
    return Events(len(events), last_seq, _text({"kind": "events", "events": events, "last_seq": last_seq}))


@database_sync_to_async
def _state(run_id: str) -> State | None:
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return None
    state = page_state(run)
    return State(state, _text({"kind": "state", "state": state}))


EVENTS = Shared(_events)
STATES = Shared(_state)


class RunsConsumer(LiveConsumer):
    """The list of runs: the state of each run that changed, as `{"kind": "state", "state": {...}}`."""

    group = RUNS_GROUP

    async def prepare(self) -> bool:
        self.changed: set[str] = set()
        self.states: dict[str, dict[str, Any]] = {}
        return True

    async def hello(self) -> None:
        await self.say({"kind": "hello", "states": await self._changes(None)})

    async def catch_up(self) -> None:
        ids, self.changed = self.changed, set()
        for state in await self._changes(ids):
            await self.say({"kind": "state", "state": state})

    async def beat(self) -> None:
        """Looks at every live run too, for the news that was lost."""
        self.changed |= set(self.states)
        await self.catch_up()
        await self.say({"kind": "heartbeat", "time": time.time()})

    def hear(self, news: News | None) -> None:
        self.changed |= {news["run"]} if news else set(self.states)
        self.news.set()

    @database_sync_to_async
    def _changes(self, ids: set[str] | None) -> list[dict[str, Any]]:
        """The states that differ from what was sent, of the runs `ids`, or of all live runs."""
        runs = Run.objects.filter(state__in=LIVE_STATES) if ids is None else Run.objects.filter(pk__in=ids)
        found = [run.live_state() for run in runs]
        changed = [state for state in found if self.states.get(state["id"]) != state]
        self.states |= {state["id"]: state for state in changed}
        return changed


def _text(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))


def _parsed(text: str | None) -> dict[str, Any]:
    """A small JSON object of the browser's, or an empty one: nothing else is ever listened to."""
    try:
        message = json.loads(text or "") if len(text or "") <= LONGEST_MESSAGE else {}
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def cursor_of(query: bytes) -> int:
    """What `?after=` says; 0 where it says nothing that can be a cursor."""
    text = parse_qs(query.decode("latin-1")).get("after", ["0"])[0]
    return whole_number(text) or 0
