"""The scheduler of periodic tasks, as a thread of every worker: it needs no process of its own.

Several workers have several schedulers. The tasks change nothing when there is nothing to do, so that costs little.
"""

from __future__ import annotations

from typing import Any

from celery.beat import EmbeddedService
from celery.signals import worker_ready, worker_shutting_down

from workers.app import app

_clocks: list[Any] = []


@worker_ready.connect
def start_clock(sender: Any = None, **_: Any) -> None:
    """Unless the worker was started with a clock of its own (`--beat`)."""
    if getattr(getattr(sender, "controller", None), "beat", None):
        return
    clock = EmbeddedService(app, thread=True, scheduler_cls=app.conf.beat_scheduler)
    clock.start()
    _clocks.append(clock)


@worker_shutting_down.connect
def stop_clock(**_: Any) -> None:
    for clock in _clocks:
        clock.service.stop()
