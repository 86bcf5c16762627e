"""Watches an environment that is checked or measured: each of its calls within its limit, and all within one deadline.

The calls run in a thread (`guard`). Code that keeps the interpreter's lock cannot be watched from within the process.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from engine.config import EnvironmentLimits
from engine.environments.base import Environment
from engine.environments.guard import LimitExceeded, call_guarded

T = TypeVar("T")


class TimeLimit(Exception):
    """A call exceeded its limit; or, where `of_all`, the calls together exceeded theirs."""

    def __init__(self, text: str, *, of_all: bool) -> None:
        super().__init__(text)
        self.of_all = of_all


class Watch:
    def __init__(self, limits: EnvironmentLimits, *, seconds: float = math.inf) -> None:
        self.limits = limits
        self._until = time.monotonic() + seconds
        self._call, self._allowed, self._call_until = "", math.inf, math.inf

    def is_over(self) -> bool:
        return time.monotonic() >= self._until

    def perform(self, work: Callable[[], T]) -> T:
        """The result of `work`, in which environments of `make` are called; `TimeLimit` once they take too long."""
        try:
            return call_guarded(work, lambda: min(self._call_until, self._until))
        except LimitExceeded:
            if self.is_over():
                raise TimeLimit(f"the time was over in {self._call}", of_all=True) from None
            raise TimeLimit(f"{self._call} did not return within {self._allowed:g} s", of_all=False) from None

    def make(self, make: Callable[[], Environment]) -> Environment:
        with self.calling("the constructor", self.limits.construct_seconds):
            inner = make()
        return cast(Environment, _Watched(inner, self))

    @contextmanager
    def calling(self, call: str, seconds: float) -> Iterator[None]:
        self._call, self._allowed = call, seconds
        self._call_until = time.monotonic() + seconds
        yield
        self._call_until = math.inf

    def seconds_of(self, method: str) -> float:
        limits = self.limits
        own = {"step": limits.step_seconds, "close": limits.close_seconds}
        return own.get(method, limits.reset_seconds)


class _Watched:
    """Has everything that `inner` has; its methods tell the watch when they begin and end."""

    def __init__(self, inner: Environment, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not inspect.ismethod(found):
            return found

        def watched(*args: Any, **named: Any) -> Any:
            with self._watch.calling(name, self._watch.seconds_of(name)):
                return found(*args, **named)

        return watched
