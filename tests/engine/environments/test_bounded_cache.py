"""Caches of problems are bounded in bytes."""

from __future__ import annotations

import string
import threading
from dataclasses import dataclass

import numpy as np

from engine.environments.bounded_cache import BYTES_PER_ENTRY, BoundedCache, cached_in_bytes, size_in_bytes

LETTERS = string.ascii_letters  # all of one size
KEY = size_in_bytes("a")
ENTRY = 100 + KEY + BYTES_PER_ENTRY


def test_it_keeps_what_was_used_last_within_its_bytes() -> None:
    cache: BoundedCache[str] = BoundedCache(3 * ENTRY, size_of=lambda _: 100)
    for key in ("a", "b", "c", "a", "d"):  # d needs room, and b was used least recently
        cache.get(key, lambda key=key: f"first {key}")  # type: ignore[misc]
    assert [cache.get(key, lambda: "again") for key in ("a", "c", "d", "b")] == [
        "first a",
        "first c",
        "first d",
        "again",
    ]
    assert cache.bytes == 3 * ENTRY
    assert len(cache) == 3


def test_a_result_larger_than_the_cache_is_returned_and_not_kept() -> None:
    calls = []

    @cached_in_bytes(10_000)
    def make(length: int) -> bytes:
        calls.append(length)
        return bytes(length)

    assert len(make(20_000)) == len(make(20_000)) == 20_000
    assert len(make(200)) == len(make(200)) == 200
    assert calls == [20_000, 20_000, 200]


def test_the_size_of_data_is_that_of_all_its_parts_each_counted_once() -> None:
    @dataclass(frozen=True)
    class Pair:
        left: tuple[bytes, ...]
        right: tuple[bytes, ...]

    one = (bytes(1000),)
    assert 1000 < size_in_bytes(Pair(one, one)) < 1400
    assert 2000 < size_in_bytes(Pair(one, (bytes(999),))) < 2600
    assert size_in_bytes(np.zeros(1000)) == 8000


def test_threads_that_share_a_cache_never_exceed_its_bytes() -> None:
    cache: BoundedCache[str] = BoundedCache(20 * ENTRY, size_of=lambda _: 100)

    def use(start: int) -> None:
        for key in range(start, start + 500):
            letter = LETTERS[key % len(LETTERS)]
            assert cache.get(letter, lambda letter=letter: letter) == letter  # type: ignore[misc]

    threads = [threading.Thread(target=use, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 20
    assert cache.bytes == 20 * ENTRY


def test_a_key_counts_too() -> None:
    @cached_in_bytes(10_000)
    def first_letter(text: str) -> str:
        return text[0]

    for letter in "abc":
        assert first_letter(letter * 4000) == letter
    assert first_letter.cache.bytes <= 10_000  # type: ignore[attr-defined]
    assert len(first_letter.cache) == 2  # type: ignore[attr-defined]
