"""News on the channel layer: that a run or a what-if has something new. No data travels here, and none can be lost.

News is sent from one background thread, so that a slow or absent Redis never holds up a supervisor or a request.
News of the same thing that waits is merged. What cannot be sent is counted and dropped: readers ask for rows anyway.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Any

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

News = dict[str, Any]
RUNS_GROUP = "runs"
SEND_SECONDS = 5.0


def run_group(run_id: str) -> str:
    return f"run.{run_id}"


def what_if_group(pk: int) -> str:
    return f"what_if.{pk}"


def publish_run(run_id: str, seq: int) -> None:
    """Tells the open pages that the run's rows or state changed. Never raises and never waits."""
    _desk().announce(run_group(run_id), run_id, {"type": "run.news", "run": run_id, "seq": seq})
    _desk().announce(RUNS_GROUP, run_id, {"type": "runs.news", "run": run_id})


def publish_what_if(pk: int) -> None:
    """Tells the open pages that the what-if told more, or stands otherwise. Never raises and never waits."""
    _desk().announce(what_if_group(pk), str(pk), {"type": "what_if.news", "what_if": pk})


def dropped_news() -> int:
    """How many messages could not be handed to the channel layer since this process started."""
    return _desk().dropped


class NewsDesk:
    """A thread with its own event loop that sends each group the newest of what was announced about one thing."""

    def __init__(self) -> None:
        self.dropped = 0
        self.pid = os.getpid()
        self._waiting: dict[tuple[str, str], News] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        threading.Thread(target=self._run, name="news", daemon=True).start()

    def announce(self, group: str, about: str, news: News) -> None:
        with self._lock:
            self._waiting[group, about] = news
        self._wake.set()

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                batch, self._waiting = self._waiting, {}
            loop.run_until_complete(self._send(batch))

    async def _send(self, batch: dict[tuple[str, str], News]) -> None:
        layer = get_channel_layer()
        for (group, _), news in batch.items():
            await self._send_one(layer, group, news)

    async def _send_one(self, layer: Any, group: str, message: News) -> None:
        if layer is None:
            self.dropped += 1
            return
        try:
            await asyncio.wait_for(layer.group_send(group, message), SEND_SECONDS)
        except Exception as error:  # whatever the layer raises, news may be lost and the rows stand
            self.dropped += 1
            log.info("News for %s was dropped: %s", group, error)


_the_desk: NewsDesk | None = None
_desk_lock = threading.Lock()


def _desk() -> NewsDesk:
    """This process's desk; a forked process makes its own, since threads do not survive a fork."""
    global _the_desk
    with _desk_lock:
        if _the_desk is None or _the_desk.pid != os.getpid():
            _the_desk = NewsDesk()
        return _the_desk
