"""A cache of function results that is bounded in bytes, as problems of the same kind differ in size by a hundred."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields, is_dataclass
from functools import wraps
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
PLAIN = frozenset({int, float, bool, str, bytes, type(None)})  # values without parts
BYTES_PER_ENTRY = 200  # of the cache itself: an entry of the ordered dictionary


class BoundedCache(Generic[T]):
    """The most recently used results whose sizes, with their keys, sum to `most_bytes` at most. Safe for threads."""

    def __init__(self, most_bytes: int, size_of: Callable[[T], int]) -> None:
        self.most_bytes = most_bytes
        self.size_of = size_of
        self.bytes = 0
        self._found: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._found)

    def renew_lock(self) -> None:
        """For a forked process, where a thread that held the lock does not exist."""
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result kept for `key`, or that of `make`. Two threads may make the same one at once."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key][0]
        result = make()
        size = self.size_of(result) + size_in_bytes(key) + BYTES_PER_ENTRY
        with self._lock:
            if key not in self._found and size <= self.most_bytes:
                self._found[key] = (result, size)
                self.bytes += size
                while self.bytes > self.most_bytes:
                    _, (_, freed) = self._found.popitem(last=False)
                    self.bytes -= freed
        return result


def size_in_bytes(value: Any) -> int:
    """The memory of data: numbers, text, containers, dataclasses and arrays. What occurs twice in it counts once."""
    total, seen, left = 0, set[int](), [value]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if type(one) in PLAIN:
            total += sys.getsizeof(one)
        else:
            total += one.nbytes if isinstance(one, np.ndarray) else sys.getsizeof(one)
            left.extend(_parts(one))
    return total


def cached_in_bytes(
    most_bytes: int, size_of: Callable[[Any], int] = size_in_bytes
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keeps results of a function of hashable arguments, up to `most_bytes` of them."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cache: BoundedCache[T] = BoundedCache(most_bytes, size_of)
        os.register_at_fork(after_in_child=cache.renew_lock)

        @wraps(function)
        def cached(*args: P.args, **kwargs: P.kwargs) -> T:
            key = (args, tuple(sorted(kwargs.items())))
            return cache.get(key, lambda: function(*args, **kwargs))

        cached.cache = cache  # type: ignore[attr-defined]
        return cached

    return decorate


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if is_dataclass(value):
        return [getattr(value, one.name) for one in fields(value)]
    return ()
