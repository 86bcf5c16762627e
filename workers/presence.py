"""Announces a worker while it takes tasks: `/readyz` and `/metrics` of the site say which there are."""

from __future__ import annotations

from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from webapp.monitoring.presence import WORKER, Announcer, Facts
from webapp.worker_calls import is_alone
from workers.app import app
from workers.ingestion import of_this_worker

_announcers: list[Announcer] = []


def facts() -> Facts:
    return {"queues": sorted(app.amqp.queues.consume_from), **of_this_worker.facts()}


@worker_ready.connect
def start_announcing(**_: Any) -> None:
    if not is_alone():
        _announcers.append(Announcer(WORKER, facts))


@worker_shutting_down.connect
def stop_announcing(**_: Any) -> None:
    while _announcers:
        _announcers.pop().stop()
