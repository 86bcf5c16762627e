"""Shared data is made once, whatever the threads and processes."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.environments.loading import loaded_once


def test_threads_that_need_the_same_data_at_once_wait_for_one_of_them() -> None:
    made: list[int] = []

    @loaded_once(2)
    def load(number: int) -> list[int]:
        made.append(number)
        time.sleep(0.05)
        return [number]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: load(3), range(8)))
    assert made == [3]
    assert all(one is found[0] for one in found)


def test_no_more_results_are_kept_than_allowed() -> None:
    made: list[int] = []

    @loaded_once(2)
    def load(number: int) -> int:
        made.append(number)
        return number

    assert [load(number) for number in (1, 2, 3, 3, 2, 1)] == [1, 2, 3, 3, 2, 1]
    assert made == [1, 2, 3, 1]  # 1 was dropped for 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_forked_while_data_is_loaded_can_load_it_itself() -> None:
    loading, go_on = threading.Event(), threading.Event()

    @loaded_once(2)
    def load(wait: bool) -> bool:
        loading.set()
        return not wait or go_on.wait(10)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(load, True)
        loading.wait(10)
        child = os.fork()  # the other thread holds the lock
        if child == 0:
            os._exit(0 if load(False) else 1)
        deadline = time.monotonic() + 10
        while (status := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        if status[0] == 0:
            os.kill(child, 9)
            os.waitpid(child, 0)
        go_on.set()
    assert status == (child, 0)
