"""Announces a worker while it takes tasks: `/readyz` and `/metrics` of the site say which there are, and the launcher
ends one that has been missing for too long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from webapp.monitoring.presence import WORKER, Announcer, Facts
from webapp.worker_calls import is_alone
from workers.app import app
from workers.ingestion import of_this_worker

ROUND_SECONDS = 1.0
LONGEST_ROUND = 20.0  # seconds, of a loop that takes tasks

_announcers: list[Announcer] = []


class TaskLoop:
    """The loop of the main thread, in which the worker takes tasks. A thread that announces the worker would go on
    although the loop hangs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.note_round()

    def note_round(self) -> None:
        self._last_round = self._clock()

    def takes_tasks(self) -> bool:
        """Not while it waits for a broker that is away."""
        return self._clock() - self._last_round <= LONGEST_ROUND


def facts() -> Facts:
    return {"queues": sorted(app.amqp.queues.consume_from), **of_this_worker.facts()}


@worker_ready.connect
def start_announcing(sender: Any, **_: Any) -> None:
    if is_alone():
        return
    loop = TaskLoop()
    sender.timer.call_repeatedly(ROUND_SECONDS, loop.note_round)  # by the loop itself; it survives lost connections
    _announcers.append(Announcer(WORKER, facts, loop.takes_tasks))


@worker_shutting_down.connect
def stop_announcing(**_: Any) -> None:
    while _announcers:
        _announcers.pop().stop()
