"""Listeners of groups over a Redis that is emptied, restarted and frozen."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from channels.layers import get_channel_layer

from tests.webapp.live.sockets import layers
from tests.workers.conftest import find_redis_server
from webapp.live.listen import listen
from webapp.live.sentinel import Update

pytestmark = pytest.mark.slow  # a Redis of its own stops and comes back in each

GROUPS = 40
WHOLE_SECONDS = 2.0


class Server:
    """A Redis server of the test's own on a unix socket, in memory only."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "r.sock"
        self.command = [find_redis_server(), "--port", "0", "--unixsocket", str(self.path), "--save", ""]
        self.folder = folder
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.DEVNULL)
        while not self.answers():
            time.sleep(0.02)

    def answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except redis.ConnectionError:
            return False

    def client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.path))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="sb"))  # short: a socket's path has at most 107 bytes
    server = Server(folder)
    settings.CHANNEL_LAYERS = layers(f"unix://{server.path}")
    yield server
    server.kill()
    shutil.rmtree(folder)


class Listeners:
    """As the sockets of one process have them: each in a group of its own, with what it has received."""

    def __init__(self) -> None:
        self.received: dict[str, list[Update | None]] = {f"group.{index}": [] for index in range(GROUPS)}
        self.tasks = [asyncio.create_task(listen([group], into.append)) for group, into in self.received.items()]

    async def until(self, condition: Callable[[list[Update | None]], bool]) -> None:
        while not all(condition(received) for received in self.received.values()):
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks, timeout=10)


@pytest.fixture
async def listeners(server: Server) -> AsyncIterator[Listeners]:
    found = Listeners()
    await asyncio.wait_for(found.until(lambda received: received == [None]), 30)
    yield found
    await found.end()


async def send_to_each(listeners: Listeners) -> None:
    layer: Any = get_channel_layer()
    for group in listeners.received:
        await layer.group_send(group, {"type": "update"})


@pytest.mark.parametrize("damage", ["flush", "restart"])
async def test_all_groups_are_joined_again_within_two_seconds(
    server: Server, listeners: Listeners, damage: str
) -> None:
    server.client().flushall() if damage == "flush" else server.restart()
    await asyncio.wait_for(listeners.until(lambda received: received[1:] == [None]), WHOLE_SECONDS)
    await send_to_each(listeners)
    await asyncio.wait_for(listeners.until(lambda received: received[-1] == {"type": "update"}), WHOLE_SECONDS)


async def test_after_a_longer_outage_all_groups_are_joined_again_at_once(server: Server, listeners: Listeners) -> None:
    server.kill()
    await asyncio.sleep(4)
    server.start()
    await asyncio.wait_for(listeners.until(lambda received: len(received) > 1), WHOLE_SECONDS)
    await send_to_each(listeners)
    await asyncio.wait_for(listeners.until(lambda received: received[-1] == {"type": "update"}), WHOLE_SECONDS)


async def test_a_frozen_redis_is_waited_for(server: Server, listeners: Listeners) -> None:
    server.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(4)
    server.process.send_signal(signal.SIGCONT)
    await asyncio.wait_for(listeners.until(lambda received: len(received) > 1), WHOLE_SECONDS)


async def test_a_listener_that_begins_during_an_outage_joins_after_it(server: Server, listeners: Listeners) -> None:
    server.kill()
    received: list[Update | None] = []
    late = asyncio.create_task(listen(["late"], received.append))
    await asyncio.sleep(1.5)
    assert received == []
    server.start()
    while received != [None]:
        await asyncio.sleep(0.01)
    late.cancel()
    await asyncio.wait({late}, timeout=10)


async def test_listeners_of_a_group_share_its_channel_and_each_hears_everything_while_it_listens(
    server: Server,
) -> None:
    first: list[Update | None] = []
    second: list[Update | None] = []
    late: list[Update | None] = []
    tasks = [asyncio.create_task(listen(["shared"], into.append)) for into in (first, second)]
    while first != [None] or second != [None]:
        await asyncio.sleep(0.01)
    layer: Any = get_channel_layer()
    assert len(server.client().zrange(layer._group_key("shared"), 0, -1)) == 1
    tasks.append(asyncio.create_task(listen(["shared", "another"], late.append)))
    while late != [None, None]:  # one of each group
        await asyncio.sleep(0.01)
    await layer.group_send("shared", {"type": "update", "seq": 1})
    while len(late) < 3 or len(second) < 2:
        await asyncio.sleep(0.01)
    assert first == second == [None, {"type": "update", "seq": 1}]
    tasks[0].cancel()
    await asyncio.wait({tasks[0]}, timeout=10)
    await layer.group_send("shared", {"type": "update", "seq": 2})
    while len(second) < 3:
        await asyncio.sleep(0.01)
    assert len(first) == 2 and late[-1] == {"type": "update", "seq": 2}
    for task in tasks[1:]:
        task.cancel()
    await asyncio.wait(tasks[1:], timeout=10)
    assert server.client().zrange(layer._group_key("shared"), 0, -1) == []
    again: list[Update | None] = []
    once_more = asyncio.create_task(listen(["shared"], again.append))
    while again != [None]:
        await asyncio.sleep(0.01)
    once_more.cancel()
    await asyncio.wait({once_more}, timeout=10)


async def test_the_last_listener_takes_the_sentinel_with_it(server: Server) -> None:
    before = asyncio.all_tasks()
    listeners = Listeners()
    await asyncio.wait_for(listeners.until(lambda received: received == [None]), 30)
    await listeners.end()
    await asyncio.sleep(0.2)
    assert asyncio.all_tasks() <= before
