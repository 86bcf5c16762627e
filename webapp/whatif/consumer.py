"""The socket of a what-if: what its engine told after the cursor, and how it stands."""

from __future__ import annotations

import time
from typing import Any

from channels.db import database_sync_to_async

from webapp.live.access import NOT_FOUND
from webapp.live.consumers import LiveConsumer, cursor_of
from webapp.updates import what_if_group
from webapp.whatif import services
from webapp.whatif.models import WhatIf


class WhatIfConsumer(LiveConsumer):
    """Speaks as a run's socket does: hello, events without a gap, the state whenever it changes, heartbeats."""

    async def prepare(self) -> bool:
        place = self.scope["url_route"]["kwargs"]
        self.what_if = place["what_if"]
        self.group = what_if_group(self.what_if)
        self.cursor = cursor_of(self.scope["query_string"])
        self.state: dict[str, Any] = {}
        return bool(await WhatIf.objects.filter(pk=self.what_if, run_id=place["run_id"]).aexists())

    async def hello(self) -> None:
        """Without the state: a page that is told of the end has everything before it."""
        await self.say({"kind": "hello"})

    async def catch_up(self) -> None:
        while (told := await database_sync_to_async(self._told)()) and told["events"]:
            self.cursor = told["last_seq"]
            await self.say({"kind": "events", "events": told["events"], "last_seq": self.cursor})
        if told is None:
            await self.close(code=NOT_FOUND)
        elif told["state"] != self.state:
            self.state = told["state"]
            await self.say({"kind": "state", "state": self.state})

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "last_seq": self.cursor, "time": time.time()})

    def _told(self) -> services.Told | None:
        asked = WhatIf.objects.select_related("run").filter(pk=self.what_if).first()
        return services.told_after(asked, self.cursor) if asked else None
