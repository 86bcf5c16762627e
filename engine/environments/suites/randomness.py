"""Runs libraries that draw from the global generators of `random` and NumPy as if each environment had its own."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

PATIENCE = 45.0  # seconds to wait for another environment, less than the usual limit of a reset
_in_use = threading.RLock()


class Randomness:
    """The state of the global generators as one environment sees it.

    `with randomness.installed():` puts it in place, and restores what was there before. In a process one environment
    runs at a time, as other episodes' draws would mix with it; if one hangs, the others raise `TimeoutError`.
    """

    def __init__(self) -> None:
        self._states: tuple[Any, Any] | None = None

    def seed(self, *words: int) -> None:
        entropy = [word % 2**32 for word in words]
        self._states = random.Random(repr(entropy)).getstate(), np.random.RandomState(entropy).get_state()

    @contextmanager
    def installed(self) -> Iterator[None]:
        if not _in_use.acquire(timeout=PATIENCE):
            raise TimeoutError(f"another environment has had the global random generators for {PATIENCE:g} seconds")
        try:
            before = random.getstate(), np.random.get_state()
            if self._states is not None:
                _set(self._states)
            try:
                yield
            finally:
                self._states = random.getstate(), np.random.get_state()
                _set(before)
        finally:
            _in_use.release()


def _set(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])


def _after_fork() -> None:
    global _in_use
    _in_use = threading.RLock()  # a thread that held the other one does not exist in the new process


os.register_at_fork(after_in_child=_after_fork)
