"""Runs environments for pages: calls that a page waits for, and facts for the cards of environments.

The work is done in helper processes that are killed when they take too long or too much memory. Answers go to a list in
Redis that the waiting request reads.
"""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import redis
from django.conf import settings

from engine.environment_calls.helper import CallFailed, HelperPool
from webapp.environments import measuring
from webapp.environments.models import EnvironmentVersion
from workers.process import WITHHELD

log = logging.getLogger(__name__)

AT_ONCE = 2
ANSWER_SECONDS = 60  # an answer that nobody reads is deleted
FACTS_SECONDS = 60.0
CALLS = HelperPool(AT_ONCE, withheld=WITHHELD)
MEASURING = HelperPool(1, withheld=WITHHELD, nice=10)
_one_at_a_time = threading.Lock()


class _ShuttingDown(Exception):
    """The worker ends; what is not measured yet is measured by the next one."""


def answer_call(key: str, call: str, config: dict[str, Any], arguments: dict[str, Any], seconds: float) -> None:
    """Answers one call; the first message says only that it was taken up."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    _send(client, key, {"taken": True})
    try:
        message = {"result": CALLS.call(call, config, arguments, seconds=seconds)}
    except CallFailed as error:
        message = {"error": str(error), "unasked": error.unasked}
    _send(client, key, message)
    client.close()


def measure_environments(shutdown: threading.Event) -> None:
    """The facts of every newest version that lacks them: pictures first, since all cards show one."""
    if not _one_at_a_time.acquire(blocking=False):
        return

    def ask(call: str, config: dict[str, Any]) -> dict[str, Any]:
        if shutdown.is_set():
            raise _ShuttingDown
        try:
            return dict(MEASURING.call(call, config, {}, seconds=FACTS_SECONDS))
        except CallFailed:
            if shutdown.is_set():  # the helper was stopped, which is no fact about the environment
                raise _ShuttingDown from None
            raise

    try:
        for step in (measuring.look, measuring.measure):
            for pk in measuring.lacking(step):
                version = EnvironmentVersion.objects.filter(pk=pk).first()
                if version is not None:
                    step(version, ask)
    except _ShuttingDown:
        return
    finally:
        _one_at_a_time.release()


def warm_up() -> None:
    CALLS.warm_up()


def stop() -> None:
    CALLS.stop()
    MEASURING.stop()


def _send(client: Any, key: str, message: dict[str, Any]) -> None:
    with client.pipeline() as pipeline:
        pipeline.rpush(key, json.dumps(message))
        pipeline.expire(key, ANSWER_SECONDS)
        pipeline.execute()
