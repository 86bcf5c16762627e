"""Concurrent requests share one read, and never one that began before the request."""

from __future__ import annotations

import asyncio

import pytest

from webapp.live.shared import Shared


class SlowDatabase:
    """A database whose reads take time: `value` is its content when a read begins."""

    def __init__(self) -> None:
        self.value = 0
        self.readings = 0
        self.fails = False

    async def read(self, key: str) -> int:
        self.readings += 1
        if self.fails:
            raise OSError("The database is away.")
        found = self.value
        await asyncio.sleep(0.01)
        return found


async def test_two_hundred_concurrent_requests_share_one_read() -> None:
    database = SlowDatabase()
    shared = Shared(database.read)
    assert await asyncio.gather(*(shared.fresh("run") for _ in range(200))) == [0] * 200
    assert database.readings == 1


async def test_a_request_during_a_read_sees_rows_committed_before_the_request() -> None:
    database = SlowDatabase()
    shared = Shared(database.read)
    early = asyncio.create_task(shared.fresh("run"))
    await asyncio.sleep(0.005)  # it has read, but not returned
    database.value = 1
    late = await asyncio.gather(*(shared.fresh("run") for _ in range(5)))
    assert (await early, late, database.readings) == (0, [1] * 5, 2)


async def test_different_keys_do_not_wait_for_each_other() -> None:
    database = SlowDatabase()
    shared = Shared(database.read)
    await asyncio.gather(shared.fresh("one"), shared.fresh("other"))
    assert database.readings == 2


async def test_a_cancelled_request_does_not_cancel_the_shared_read() -> None:
    database = SlowDatabase()
    shared = Shared(database.read)
    leaving, staying = (asyncio.create_task(shared.fresh("run")) for _ in range(2))
    await asyncio.sleep(0.002)
    leaving.cancel()
    assert await staying == 0


async def test_a_failed_read_is_retried_by_the_next_request() -> None:
    database = SlowDatabase()
    shared = Shared(database.read)
    database.fails = True
    with pytest.raises(OSError, match="away"):
        await shared.fresh("run")
    database.fails = False
    assert await shared.fresh("run") == 0
