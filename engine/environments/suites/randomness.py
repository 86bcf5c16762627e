"""Runs libraries that draw from the global generators of `random` and NumPy as if each environment had its own."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_GLOBAL_GENERATORS = threading.RLock()


class Randomness:
    """The state of the global generators as one environment sees it.

    `with randomness.installed():` puts it in place and restores what was there before. One environment runs at a time,
    so that neither episodes in other threads nor the engine's own draws mix with it.
    """

    def __init__(self) -> None:
        self._states: tuple[Any, Any] | None = None

    def seed(self, *words: int) -> None:
        entropy = [word % 2**32 for word in words]
        self._states = random.Random(repr(entropy)).getstate(), np.random.RandomState(entropy).get_state()

    @contextmanager
    def installed(self) -> Iterator[None]:
        with _GLOBAL_GENERATORS:
            before = random.getstate(), np.random.get_state()
            if self._states is not None:
                _set(self._states)
            try:
                yield
            finally:
                self._states = random.getstate(), np.random.get_state()
                _set(before)


def _set(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])
