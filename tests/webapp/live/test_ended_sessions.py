"""A socket of a session that has ended is closed within seconds, without waiting for its heartbeat."""

from __future__ import annotations

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from tests.webapp.live.sockets import Sockets
from webapp.user_sessions.services import end_others, sessions_of
from webapp.user_sessions.store import SessionStore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.usefixtures("redis_layer")]

SECONDS = 5.0  # a third of the time between two heartbeats


async def test_sockets_of_ended_sessions_are_closed_and_that_of_the_remaining_one_is_not(
    session: SessionStore, sockets: Sockets
) -> None:
    user = await User.objects.aget()
    other = await database_sync_to_async(second_session)(session)
    kept, ended = await sockets.open("/ws/runs/", session), await sockets.open("/ws/runs/", other)
    await kept.until("hello")
    await ended.until("hello")
    await asyncio.sleep(0.5)  # until both listen
    assert await database_sync_to_async(end_others)(user, session.session_key) == 1
    assert await asyncio.wait_for(ended.close_code(), SECONDS) == 4401
    await kept.send('{"kind": "ping", "time": 1}')
    assert (await kept.until("pong"))["time"] == 1
    assert len(await database_sync_to_async(sessions_of)(user)) == 1


def second_session(first: SessionStore) -> SessionStore:
    store = SessionStore()
    store.update(dict(first.items()))
    store.save()
    return store
