"""Updates on the channel layer: that a run or a what-if has changed. They carry no data, so none can be lost.

Updates are sent from one background thread, so that a slow or absent Redis never blocks a supervisor or a request.
Waiting updates of the same object are merged. Updates that cannot be sent are counted and dropped: readers poll the
rows anyway.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Any

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

Update = dict[str, Any]
RUNS_GROUP = "runs"
SESSIONS_ENDED = "sessions.ended"  # the type of an update
SEND_SECONDS = 5.0


def run_group(run_id: str) -> str:
    return f"run.{run_id}"


def what_if_group(pk: int) -> str:
    return f"what_if.{pk}"


def evaluation_group(pk: int) -> str:
    return f"evaluation.{pk}"


def import_group(pk: int) -> str:
    return f"import.{pk}"


def user_group(pk: int) -> str:
    return f"user.{pk}"


def publish_run(run_id: str, seq: int) -> None:
    """Notifies open pages that the run's rows or state changed. Never raises and never waits."""
    _publisher().publish(run_group(run_id), run_id, {"type": "run.update", "run": run_id, "seq": seq})
    _publisher().publish(RUNS_GROUP, run_id, {"type": "runs.update", "run": run_id})


def publish_what_if(pk: int) -> None:
    """Notifies open pages that the what-if has new events or another state. Never raises and never waits."""
    _publisher().publish(what_if_group(pk), str(pk), {"type": "what_if.update", "what_if": pk})


def publish_evaluation(pk: int) -> None:
    """Notifies open pages that the evaluation on a suite has more episodes or another state. Never raises and never
    waits."""
    update = {"type": "evaluation.update", "evaluation": pk}
    _publisher().publish(evaluation_group(pk), f"evaluation {pk}", update)


def publish_import(pk: int) -> None:
    """Notifies open pages that the import has progressed. Never raises and never waits."""
    _publisher().publish(import_group(pk), f"import {pk}", {"type": "import.update", "import": pk})


def publish_user(pk: int) -> None:
    """Has the sockets of the user look whether their sessions are still there. Never raises and never waits."""
    _publisher().publish(user_group(pk), f"user {pk}", {"type": SESSIONS_ENDED})


def dropped_updates() -> int:
    """How many messages could not be handed to the channel layer since this process started."""
    return _publisher().dropped


class Publisher:
    """A thread with its own event loop that sends each group the newest update of each object."""

    def __init__(self) -> None:
        self.dropped = 0
        self.pid = os.getpid()
        self._waiting: dict[tuple[str, str], Update] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        threading.Thread(target=self._run, name="updates", daemon=True).start()

    def publish(self, group: str, about: str, update: Update) -> None:
        with self._lock:
            self._waiting[group, about] = update
        self._wake.set()

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                batch, self._waiting = self._waiting, {}
            loop.run_until_complete(self._send(batch))

    async def _send(self, batch: dict[tuple[str, str], Update]) -> None:
        layer = get_channel_layer()
        for (group, _), update in batch.items():
            await self._send_one(layer, group, update)

    async def _send_one(self, layer: Any, group: str, message: Update) -> None:
        if layer is None:
            self.dropped += 1
            return
        try:
            await asyncio.wait_for(layer.group_send(group, message), SEND_SECONDS)
        except Exception as error:  # whatever the layer raises, updates may be lost and rows are not
            self.dropped += 1
            log.info("An update for %s was dropped: %s", group, error)


_the_publisher: Publisher | None = None
_publisher_lock = threading.Lock()


def _publisher() -> Publisher:
    """The publisher of this process; a forked process creates its own, since threads do not survive a fork."""
    global _the_publisher
    with _publisher_lock:
        if _the_publisher is None or _the_publisher.pid != os.getpid():
            _the_publisher = Publisher()
        return _the_publisher
