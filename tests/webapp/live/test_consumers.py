"""The sockets: rows after the cursor without a gap, states, heartbeats, and nothing for anonymous users."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels_redis.core import RedisChannelLayer
from django.contrib.auth import get_user_model
from django.utils import timezone

from engine.events import PhaseChanged
from tests.webapp.event_rows import add_event
from tests.webapp.live.browser import Browser
from tests.webapp.live.sockets import Sockets, layers
from webapp.live import consumers
from webapp.runs.models import Run, StepMetrics
from webapp.runs.states import RunState
from webapp.updates import publish_run
from webapp.user_sessions.store import SessionStore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_layer")]


@pytest.fixture
async def run() -> Run:
    return await Run.objects.acreate(name="calm-otter-12", config={}, state=RunState.RUNNING, total_steps=10)


async def step(run: Run, seq: int) -> None:
    await StepMetrics.objects.acreate(
        run=run, seq=seq, step=seq, time=0.0, tokens=0, seconds=1.0, metrics={"reward/mean": 0.5}
    )
    await Run.objects.filter(pk=run.pk).aupdate(last_seq=seq, step=seq)


async def phase(run: Run, seq: int) -> None:
    await database_sync_to_async(add_event)(run, PhaseChanged(step=1, phase="rollout"), seq=seq)
    await Run.objects.filter(pk=run.pk).aupdate(last_seq=seq)


async def test_an_anonymous_socket_is_closed_with_4401_and_receives_nothing(run: Run, sockets: Sockets) -> None:
    for session in (None, SessionStore("nosuchsession0000000000000000000")):
        socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
        message = await socket.receive()
        assert (message["type"], message["code"]) == ("websocket.close", 4401)


async def test_a_socket_of_an_unknown_run_is_closed_with_4404(session: SessionStore, sockets: Sockets) -> None:
    assert await (await sockets.open("/ws/runs/nosuchrun0/", session)).close_code() == 4404


async def test_a_browser_receives_missed_events_then_new_ones(
    run: Run, session: SessionStore, sockets: Sockets
) -> None:
    await phase(run, 1)
    await step(run, 2)
    socket = await sockets.open(f"/ws/runs/{run.pk}/?after=1", session)
    hello = await socket.until("hello")
    assert (hello["kind"], hello["last_seq"], hello["state"]["state"]) == ("hello", 2, "running")
    missed = await socket.until("events")
    assert ([event["seq"] for event in missed["events"]], missed["last_seq"]) == ([2], 2)
    await step(run, 3)
    publish_run(run.pk, 3)
    fresh = await socket.until("events")
    assert [event["seq"] for event in fresh["events"]] == [3]
    assert (await socket.until("state"))["state"]["step"] == 3


async def test_a_burst_of_updates_is_read_once_without_a_gap(run: Run, session: SessionStore, sockets: Sockets) -> None:
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    for seq in range(1, 41):
        await step(run, seq)
    for seq in range(1, 41):
        publish_run(run.pk, seq)
    seen: list[int] = []
    messages = 0
    while not seen or seen[-1] < 40:
        seen += [event["seq"] for event in (await socket.until("events"))["events"]]
        messages += 1
    assert seen == list(range(1, 41))
    assert messages < 40


async def test_a_tab_that_is_closed_while_it_is_sent_something_is_no_error(
    run: Run, session: SessionStore, sockets: Sockets, caplog: pytest.LogCaptureFixture
) -> None:
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    socket.vanished = True
    await socket.send('{"kind": "ping"}')
    await step(run, 1)
    publish_run(run.pk, 1)
    await asyncio.sleep(0.5)
    await socket.leave()
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []


async def test_a_lost_update_is_recovered_by_the_heartbeat(
    run: Run, session: SessionStore, sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", 0.3)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    await step(run, 1)  # without publishing an update
    assert [event["seq"] for event in (await socket.until("events"))["events"]] == [1]
    beat = await socket.until("heartbeat")
    assert beat["last_seq"] == 1


async def test_a_page_learns_from_the_heartbeat_that_no_worker_follows_its_run_and_from_an_update_that_one_does(
    run: Run, session: SessionStore, sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", 0.3)
    until = timezone.now() + timedelta(seconds=0.5)
    await Run.objects.filter(pk=run.pk).aupdate(lease_holder="here 1 2 3", lease_expires=until)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    assert (await socket.until("hello"))["state"]["unheld"] is False
    assert (await socket.until("state"))["state"]["unheld"] is True  # its holder has not renewed the lease
    await Run.objects.filter(pk=run.pk).aupdate(lease_expires=until + timedelta(minutes=1))
    await step(run, 1)
    publish_run(run.pk, 1)
    assert (await socket.until("state"))["state"]["unheld"] is False


async def test_without_redis_the_socket_relies_on_heartbeats(
    run: Run, session: SessionStore, sockets: Sockets, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHANNEL_LAYERS = layers("unix:///nowhere/redis.sock")
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", 0.3)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    await step(run, 1)
    assert [event["seq"] for event in (await socket.until("events"))["events"]] == [1]


async def test_a_ping_is_answered_with_the_server_time_and_other_text_is_ignored(
    run: Run, session: SessionStore, sockets: Sockets
) -> None:
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    for nonsense in ("{", "[]", '"x"', '{"kind": "drop table"}', "9" * 5000):
        await socket.send(nonsense)
    await socket.send('{"kind": "ping", "time": 12.5}')
    pong = await socket.until("pong")
    assert pong["time"] == 12.5
    assert pong["server_time"] == pytest.approx(time.time(), abs=5)


@pytest.mark.parametrize("after", ["", "-1", "1e9", "٣", "9" * 30, "1;drop"])
async def test_an_invalid_cursor_starts_at_the_beginning(
    run: Run, session: SessionStore, sockets: Sockets, after: str
) -> None:
    await phase(run, 1)
    socket = await sockets.open(f"/ws/runs/{run.pk}/?after={after}", session)
    assert [event["seq"] for event in (await socket.until("events"))["events"]] == [1]


async def test_a_socket_closes_when_its_session_ends(
    run: Run, session: SessionStore, sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", 0.2)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    await session.aflush()
    assert await socket.close_code() == 4401


async def test_a_socket_closes_when_the_password_changes(
    run: Run, session: SessionStore, sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", 0.2)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    user = await get_user_model().objects.aget(username="ada")
    user.set_password("another")
    await user.asave()
    assert await socket.close_code() == 4401


async def test_the_list_receives_live_runs_first_then_each_change(
    run: Run, session: SessionStore, sockets: Sockets
) -> None:
    socket = await sockets.open("/ws/runs/", session)
    hello = await socket.until("hello")
    assert [state["id"] for state in hello["states"]] == [run.pk]
    await step(run, 1)
    publish_run(run.pk, 1)
    assert (await socket.until("state"))["state"]["step"] == 1  # so it has joined its group
    ended = await Run.objects.acreate(name="quiet-fox-1", config={}, state=RunState.FINISHED)
    publish_run(ended.pk, 0)
    assert (await socket.until("state"))["state"]["name"] == "quiet-fox-1"


async def test_the_list_receives_a_new_run_whose_update_was_lost_with_the_next_heartbeat(
    run: Run, session: SessionStore, sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_seconds", 0.3)
    socket = await sockets.open("/ws/runs/", session)
    await socket.until("heartbeat")
    await Run.objects.acreate(name="quiet-fox-1", config={}, state=RunState.RUNNING)
    assert (await socket.until("state"))["state"]["name"] == "quiet-fox-1"


async def test_a_socket_outlives_the_expiry_of_its_group(
    run: Run, session: SessionStore, sockets: Sockets, redis_url: str, settings: Any
) -> None:
    # the layer forgets members after a second; the sentinel, which joined before them, notices within another
    settings.CHANNEL_LAYERS = layers(redis_url, group_expiry=1)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    await asyncio.sleep(2.5)
    await step(run, 1)
    publish_run(run.pk, 1)
    assert [event["seq"] for event in (await socket.until("events"))["events"]] == [1]


async def test_an_update_after_a_long_silence_is_sent_at_once(
    run: Run, session: SessionStore, sockets: Sockets, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the layer polls Redis every five seconds, here every three: one that waits for the next poll is three late
    monkeypatch.setattr(RedisChannelLayer, "brpop_timeout", 3)
    socket = await sockets.open(f"/ws/runs/{run.pk}/", session)
    await socket.until("hello")
    await asyncio.sleep(3.1)
    await step(run, 1)
    began = time.monotonic()
    publish_run(run.pk, 1)
    await socket.until("events")
    assert time.monotonic() - began < 2


async def test_a_socket_closed_at_once_leaves_no_listener(run: Run, session: SessionStore) -> None:
    for pause in range(20):
        browser = Browser(f"/ws/runs/{run.pk}/", session)
        await browser.connect()
        await asyncio.sleep(pause / 5000)
        await browser.leave()
    await asyncio.sleep(0.1)
    assert "listen" not in {getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks()}
