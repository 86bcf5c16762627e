"""Calls on environments, answered by a worker: environments are anybody's code and never run in the web process.

A request waits for its answer for a bounded time. Without Redis, as in tests, there is no other process to ask, and the
call is answered here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from webapp.broker import send_task
from webapp.worker_calls import ask_worker, is_alone
from workers.app import CALL, MEASURE

SECONDS = 8.0  # of the call itself: the worker ends what takes longer


def ask(call: str, config: EnvironmentConfig, *, seconds: float = SECONDS, **arguments: Any) -> dict[str, Any]:
    """The answer of a worker, which may take `seconds`; `CallFailed` with the reason if there is none."""
    plain = config.model_dump(mode="json")
    if is_alone():
        return _answered_here(call, plain, arguments)
    return ask_worker(CALL, call, plain, arguments, seconds=seconds, what="environments run")


def measure_later() -> None:
    """Asks a worker for the facts of all environments that have none; one does so regularly anyway."""
    send_task(MEASURE, otherwise="Facts of environments wait for the schedule", expires=60)


def _answered_here(call: str, config: dict[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    from engine.environment_calls.calls import answer
    from engine.environment_calls.server import described

    try:
        return answer(call, config, dict(arguments))
    except Exception as error:  # an environment may raise anything
        raise CallFailed(described(error)) from None
