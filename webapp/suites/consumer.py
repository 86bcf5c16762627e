"""The socket of an evaluation: it says that there is something new, and the page fetches it."""

from __future__ import annotations

import time

from webapp.live.access import NOT_FOUND
from webapp.live.consumers import LiveConsumer
from webapp.projects.access import readable
from webapp.suites.models import SuiteEvaluation
from webapp.updates import evaluation_group


class EvaluationConsumer(LiveConsumer):
    async def prepare(self) -> bool:
        self.pk = self.scope["url_route"]["kwargs"]["pk"]
        self.group = evaluation_group(self.pk)
        self.known: tuple[str, int] | None = None
        return await self.is_readable()

    async def is_readable(self) -> bool:
        return await readable(SuiteEvaluation.objects.filter(pk=self.pk)).aexists()

    async def hello(self) -> None:
        await self.say({"kind": "hello"})

    async def catch_up(self) -> None:
        now = await self._now()
        if now is None:
            await self.close(code=NOT_FOUND)
        elif now != self.known:
            self.known = now
            await self.say({"kind": "changed", "state": now[0], "played": now[1]})

    async def beat(self) -> None:
        await self.say({"kind": "heartbeat", "time": time.time()})

    async def _now(self) -> tuple[str, int] | None:
        """State, and how many episodes have been played."""
        found: tuple[str, int] | None = (
            await SuiteEvaluation.objects.filter(pk=self.pk).values_list("state", "played").afirst()
        )
        return found
