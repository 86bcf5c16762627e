"""Calls on environments, answered by a worker: environments are anybody's code and never run in the web process.

A request waits for its answer for a bounded time. Without Redis, as in tests, there is no other process to ask, and the
call is answered here.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from kombu.exceptions import OperationalError

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from webapp.broker import send_task
from workers.app import CALL, MEASURE, app

log = logging.getLogger(__name__)

SECONDS = 8.0  # of the call itself: the worker ends what takes longer
TAKEN_SECONDS = 4.0  # until a worker takes it up
MARGIN_SECONDS = 2.0
NO_WORKER = (
    "No worker took this up within {seconds:g} s, and environments run on workers only. "
    "Start one with `python -m workers`, or try again when those that run are less busy."
)
NO_QUEUE = "The queue cannot be reached, so no worker can be asked. Check that Redis runs, then try again."


def ask(call: str, config: EnvironmentConfig, *, seconds: float = SECONDS, **arguments: Any) -> dict[str, Any]:
    """The answer of a worker, which may take `seconds`; `CallFailed` with the reason if there is none."""
    plain = config.model_dump(mode="json")
    if is_alone():
        return _answered_here(call, plain, arguments)
    key = f"starboard.calls.{secrets.token_urlsafe(16)}"
    request = [key, call, plain, arguments, seconds]
    try:
        patience = min(TAKEN_SECONDS, seconds)
        app.signature(CALL, args=request).apply_async(retry=False, expires=patience)
        return _awaited(key, seconds, patience)
    except (OperationalError, OSError, *_redis_errors()) as error:
        log.warning("An environment call cannot be sent: %s", error)
        raise CallFailed(NO_QUEUE, unasked=True) from None


def measure_later() -> None:
    """Asks a worker for the facts of all environments that have none; one does so regularly anyway."""
    send_task(MEASURE, otherwise="Facts of environments wait for the schedule", expires=60)


def is_alone() -> bool:
    """Whether no other process can be reached."""
    return bool(settings.REDIS_URL == "memory://")


def _answered_here(call: str, config: dict[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    from engine.environment_calls.calls import answer
    from engine.environment_calls.server import described

    try:
        return answer(call, config, dict(arguments))
    except Exception as error:  # an environment may raise anything
        raise CallFailed(described(error)) from None


def _awaited(key: str, seconds: float, patience: float) -> dict[str, Any]:
    """The first message says that a worker has taken the call, the second is its answer."""
    if _redis().blpop([key], timeout=patience) is None:
        raise CallFailed(NO_WORKER.format(seconds=patience), unasked=True)
    received = _redis().blpop([key], timeout=2 * seconds + MARGIN_SECONDS)
    if received is None:
        raise CallFailed("The worker that took this up did not answer. Its log says why; try again.", unasked=True)
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
