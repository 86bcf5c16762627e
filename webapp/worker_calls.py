"""Calls that a request waits for, answered by a worker within a bounded time.

The answer comes in a list in Redis, after a first message that says only that a worker took the call up.
"""

from __future__ import annotations

import json
import logging
import secrets
from functools import cache
from typing import Any

from django.conf import settings
from kombu.exceptions import OperationalError

from engine.environment_calls.helper import CallFailed
from workers.app import app

log = logging.getLogger(__name__)

TAKEN_SECONDS = 4.0  # until a worker takes it up
MARGIN_SECONDS = 2.0
NO_WORKER = (
    "No worker picked this up within {seconds:g} s, and {what} on workers only. "
    "Start one with `python -m workers`, or try again when those that run are less busy."
)
NO_QUEUE = "The queue cannot be reached, so no worker can be asked. Check that Redis is running, then try again."


def is_alone() -> bool:
    """Whether no other process can be reached, as in tests."""
    return bool(settings.REDIS_URL == "memory://")


def ask_worker(task: str, *arguments: Any, seconds: float, what: str) -> dict[str, Any]:
    """The answer of `task`, which gets the name of the list, `arguments` and `seconds`; `CallFailed` if there is none.

    `what` says what workers alone do, as in "environments run".
    """
    key = f"starboard.calls.{secrets.token_urlsafe(16)}"
    try:
        patience = min(TAKEN_SECONDS, seconds)
        app.signature(task, args=[key, *arguments, seconds]).apply_async(retry=False, expires=patience)
        return _awaited(key, seconds, patience, what)
    except (OperationalError, OSError, *_redis_errors()) as error:
        log.warning("The call %s cannot be sent: %s", task, error)
        raise CallFailed(NO_QUEUE, unasked=True) from None


def _awaited(key: str, seconds: float, patience: float, what: str) -> dict[str, Any]:
    """The first message says that a worker has taken the call, the second is its answer."""
    if _redis().blpop([key], timeout=patience) is None:
        raise CallFailed(NO_WORKER.format(seconds=patience, what=what), unasked=True)
    received = _redis().blpop([key], timeout=2 * seconds + MARGIN_SECONDS)
    if received is None:
        raise CallFailed("The worker that picked this up did not answer. Its log says why; try again.", unasked=True)
    message = json.loads(received[1])
    if "error" in message:
        raise CallFailed(message["error"], unasked=message["unasked"])
    return dict(message["result"])


@cache
def _redis() -> Any:
    import redis

    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=60)


def _redis_errors() -> tuple[type[Exception], ...]:
    import redis

    return (redis.RedisError,)
