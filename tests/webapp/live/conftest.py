"""The live tests use a real Redis, like the worker tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.db import database_sync_to_async

from tests.webapp.live.sockets import Sockets, layers, signed_in_session
from tests.workers.conftest import redis_url
from webapp.user_sessions.store import SessionStore

__all__ = ["redis_url"]


@pytest.fixture
def redis_layer(redis_url: str, settings: Any) -> None:
    settings.CHANNEL_LAYERS = layers(redis_url)


@pytest.fixture
async def session() -> SessionStore:
    store: SessionStore = await database_sync_to_async(signed_in_session)()
    return store


@pytest.fixture
async def sockets() -> AsyncIterator[Sockets]:
    opened = Sockets()
    yield opened
    for browser in opened.opened:
        await browser.leave()
