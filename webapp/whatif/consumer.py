"""The socket of a what-if: its events after the cursor, and its state."""

from __future__ import annotations

import time
from typing import Any

from channels.db import database_sync_to_async

from webapp.live.access import NOT_FOUND
from webapp.live.consumers import LiveConsumer, cursor_of
from webapp.projects.access import readable
from webapp.updates import what_if_group
from webapp.whatif import services
from webapp.whatif.models import WhatIf


class WhatIfConsumer(LiveConsumer):
    """The same protocol as a run's socket: hello, events without gaps, the state when it changes, heartbeats."""

    async def prepare(self) -> bool:
        arguments = self.scope["url_route"]["kwargs"]
        self.what_if = arguments["what_if_id"]
        self.group = what_if_group(self.what_if)
        self.cursor = cursor_of(self.scope["query_string"])
        self.state: dict[str, Any] = {}
        self.run_id = arguments["run_id"]
        return await self.is_readable()

    async def is_readable(self) -> bool:
        return await readable(WhatIf.objects.filter(pk=self.what_if, run_id=self.run_id)).aexists()

    async def hello(self) -> None:
        """Without the state: a page that receives the end has received every event before it."""
        await self.say({"kind": "hello"})

    async def catch_up(self) -> None:
        while (update := await database_sync_to_async(self._update)()) and update["events"]:
            self.cursor = update["last_seq"]
            await self.say({"kind": "events", "events": update["events"], "last_seq": self.cursor})
            if not await self.may_continue():
                return
        if update is None:
            await self.close(code=NOT_FOUND)
        elif update["state"] != self.state:
            self.state = update["state"]
            await self.say({"kind": "state", "state": self.state})

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "last_seq": self.cursor, "time": time.time()})

    def _update(self) -> services.Updates | None:
        what_if = WhatIf.objects.select_related("run").filter(pk=self.what_if).first()
        return services.updates_after(what_if, self.cursor) if what_if else None
