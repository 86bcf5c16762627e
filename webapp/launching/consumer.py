"""The socket of an import: it says that there is something new, and the page fetches it."""

from __future__ import annotations

import time

from webapp.launching.models import RolloutImport
from webapp.live.access import NOT_FOUND
from webapp.live.consumers import LiveConsumer
from webapp.projects.access import readable
from webapp.updates import import_group

Position = tuple[str, int, int, str]


class ImportConsumer(LiveConsumer):
    async def prepare(self) -> bool:
        self.pk = self.scope["url_route"]["kwargs"]["pk"]
        self.group = import_group(self.pk)
        self.known: Position | None = None
        return await self.is_readable()

    async def is_readable(self) -> bool:
        return await readable(RolloutImport.objects.filter(pk=self.pk)).aexists()

    async def hello(self) -> None:
        await self.say({"kind": "hello"})

    async def catch_up(self) -> None:
        now = await self._now()
        if now is None:
            await self.close(code=NOT_FOUND)
        elif now != self.known:
            self.known = now
            await self.say({"kind": "changed", "state": now[0], "read": now[1]})

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "time": time.time()})

    async def _now(self) -> Position | None:
        fields = ("state", "read", "written", "message")
        found: Position | None = await RolloutImport.objects.filter(pk=self.pk).values_list(*fields).afirst()
        return found
