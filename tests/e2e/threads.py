"""Database rows that change while a browser is driven."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

Made = TypeVar("Made")


def in_thread(act: Callable[[], Made]) -> Made:
    """Runs `act`, which uses the database, in another thread: this one drives the browser."""

    def work() -> Made:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as writer:
        return writer.submit(work).result()
