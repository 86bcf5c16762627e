"""Data that the environments of a process share: loaded when it is first needed, once, whatever the threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def loaded_once(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`lru_cache` for `most` results, of which each is made by one thread while others wait for it.

    A forked process gets a lock of its own, as a thread that held it would not exist there.
    """

    def decorate(load: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(maxsize=most)(load)
        locks = [threading.RLock()]
        os.register_at_fork(after_in_child=lambda: locks.__setitem__(0, threading.RLock()))

        @wraps(load)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
            with locks[0]:
                return cached(*args, **kwargs)  # type: ignore[arg-type]

        return wrapper

    return decorate
