"""Runs environments for pages: calls that a page waits for, and facts for the cards of environments.

The work is done in helper processes that are killed when they take too long or too much memory.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from engine.environment_calls.helper import CallFailed, HelperPool
from webapp.environments import measuring
from webapp.environments.models import EnvironmentVersion
from workers import page_calls
from workers.process import WITHHELD

log = logging.getLogger(__name__)

AT_ONCE = 2
FACTS_SECONDS = 60.0
CALLS = HelperPool(AT_ONCE, withheld=WITHHELD)
MEASURING = HelperPool(1, withheld=WITHHELD, nice=10)
_one_at_a_time = threading.Lock()


class _ShuttingDown(Exception):
    """The worker ends; what is not measured yet is measured by the next one."""


def answer_call(key: str, call: str, config: dict[str, Any], arguments: dict[str, Any], seconds: float) -> None:
    """Answers one call of a page."""
    page_calls.answer(key, lambda: CALLS.call(call, config, arguments, seconds=seconds))


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
