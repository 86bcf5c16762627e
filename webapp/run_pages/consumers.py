"""The sockets of the run page and of the list of runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from django.db.models import Q

from webapp.live.access import NOT_FOUND
from webapp.live.consumers import LiveConsumer, as_text, cursor_of
from webapp.live.reading import events_after
from webapp.live.sentinel import Update
from webapp.live.shared import Shared
from webapp.projects.access import readable
from webapp.run_pages.snapshot import run_snapshot
from webapp.runs.models import Run
from webapp.runs.states import TERMINAL, RunState
from webapp.updates import RUNS_GROUP, run_group

EVENTS_PER_MESSAGE = 500
LIVE = Q(state__in=[state for state in RunState if state not in TERMINAL])


class RunConsumer(LiveConsumer):
    """One run: its events after the cursor, without a gap, and its state whenever that changes."""

    async def prepare(self) -> bool:
        self.run_id = self.scope["url_route"]["kwargs"]["run_id"]
        self.group = run_group(self.run_id)
        self.cursor = cursor_of(self.scope["query_string"])
        self.state: dict[str, Any] = {}
        return await self.is_readable()

    async def is_readable(self) -> bool:
        return await readable(Run.objects.filter(pk=self.run_id)).aexists()

    async def hello(self) -> None:
        snapshot = await STATES.fresh(self.run_id)
        self.state = snapshot.state if snapshot else {}
        last_seq = self.state.get("last_seq", 0)
        self.cursor = min(self.cursor, last_seq)
        await self.say({"kind": "hello", "last_seq": last_seq, "state": self.state})

    async def catch_up(self) -> None:
        """Sends events first, so that curves do not wait for the state."""
        while (events := await EVENTS.fresh((self.run_id, self.cursor))).count:
            self.cursor = events.last_seq
            await self.send(text_data=events.message)
            if events.count < EVENTS_PER_MESSAGE:
                break
            if not await self.may_continue():
                return
        await self._send_state()

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "last_seq": self.cursor, "time": time.time()})

    async def _send_state(self) -> None:
        snapshot = await STATES.fresh(self.run_id)
        if snapshot is None:
            await self.close(code=NOT_FOUND)
        elif snapshot.state != self.state:
            self.state = snapshot.state
            await self.send(text_data=snapshot.message)


@dataclass(frozen=True, slots=True)
class Events:
    """One message, serialised once for all pages."""

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
    return Events(len(events), last_seq, as_text({"kind": "events", "events": events, "last_seq": last_seq}))


@database_sync_to_async
def _state(run_id: str) -> State | None:
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return None
    state = run_snapshot(run)
    return State(state, as_text({"kind": "state", "state": state}))


EVENTS = Shared(_events)
STATES = Shared(_state)


class RunsConsumer(LiveConsumer):
    """The list of runs: the state of each changed run, as `{"kind": "state", "state": {...}}`."""

    group = RUNS_GROUP

    async def prepare(self) -> bool:
        self.changed: set[str] = set()
        self.missed = False  # updates, perhaps: of runs that this socket does not know, too
        self.states: dict[str, dict[str, Any]] = {}
        return True

    async def hello(self) -> None:
        await self.say({"kind": "hello", "states": await self._changes(LIVE)})

    async def catch_up(self) -> None:
        wanted = Q(pk__in=self.changed)
        if self.missed:
            wanted |= LIVE | Q(pk__in=set(self.states))
        self.changed, self.missed = set(), False
        for state in await self._changes(wanted):
            await self.say({"kind": "state", "state": state})

    async def beat(self) -> None:
        self.missed = True
        await self.catch_up()
        await self.say({"kind": "heartbeat", "time": time.time()})

    def receive_update(self, update: Update | None) -> None:
        if update is None:
            self.missed = True
        else:
            self.changed.add(update["run"])
        self.updated.set()

    @database_sync_to_async
    def _changes(self, wanted: Q) -> list[dict[str, Any]]:
        """The states that differ from what was sent, of the runs that are `wanted`."""
        found = [run.live_state() for run in readable(Run.objects.filter(wanted))]
        changed = [state for state in found if self.states.get(state["id"]) != state]
        self.states |= {state["id"]: state for state in changed}
        return changed
