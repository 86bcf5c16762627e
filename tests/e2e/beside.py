"""Rows that change while a browser is driven."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

Made = TypeVar("Made")


def beside(act: Callable[[], Made]) -> Made:
    """Does something with rows in another thread: this one drives the browser."""

    def work() -> Made:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as writer:
        return writer.submit(work).result()
