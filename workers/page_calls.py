"""Answers of calls that a page waits for, in a list in Redis (`webapp.worker_calls` reads it)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import redis
from django.conf import settings

from engine.environment_calls.helper import CallFailed

ANSWER_SECONDS = 60  # an answer that nobody reads is deleted


def answer(key: str, compute: Callable[[], Any]) -> None:
    """Sends the result of `compute`, or why there is none; a first message says only that the call was taken up."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    _send(client, key, {"taken": True})
    try:
        message = {"result": compute()}
    except CallFailed as error:
        message = {"error": str(error), "unasked": error.unasked}
    _send(client, key, message)
    client.close()


def _send(client: Any, key: str, message: dict[str, Any]) -> None:
    with client.pipeline() as pipeline:
        pipeline.rpush(key, json.dumps(message))
        pipeline.expire(key, ANSWER_SECONDS)
        pipeline.execute()
