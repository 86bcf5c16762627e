"""The base of sockets that say that a row has changed, so that the page is fetched again."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from django.db.models import Model

from webapp.live.access import NOT_FOUND
from webapp.live.consumers import LiveConsumer
from webapp.projects.access import readable


class ChangesConsumer(LiveConsumer):
    """A message for each change of one of `watched`; it has those of `sent`."""

    model: ClassVar[type[Model]]
    sent: ClassVar[tuple[str, ...]]
    watched: ClassVar[tuple[str, ...]]

    def group_of(self, pk: int) -> str:
        raise NotImplementedError

    async def prepare(self) -> bool:
        self.pk: int = self.scope["url_route"]["kwargs"]["pk"]
        self.group = self.group_of(self.pk)
        self.known: dict[str, Any] | None = None
        return await self.is_readable()

    async def is_readable(self) -> bool:
        return await readable(self.model._default_manager.filter(pk=self.pk)).aexists()

    async def hello(self) -> None:
        await self.say({"kind": "hello"})

    async def catch_up(self) -> None:
        now = await self.model._default_manager.filter(pk=self.pk).values(*self.watched).afirst()
        if now is None:
            await self.close(code=NOT_FOUND)
        elif now != self.known:
            self.known = now
            await self.say({"kind": "changed", **{name: now[name] for name in self.sent}})

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "time": time.time()})
