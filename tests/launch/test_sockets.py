"""A WebSocket whose browser reads nothing is dropped, and whoever writes to it is not kept."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from workers.launch.connections import LimitedConnection
from workers.launch.sockets import LimitedSocket

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: c3RhcmJvYXJkIHRlc3RzIQ==\r\n\r\n"
)
MEGABYTE = 2**20


@pytest.mark.asyncio
async def test_a_socket_that_reads_nothing_and_answers_no_ping_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedSocket, "reading_seconds", 0.2)
    sent, dropped = 0, asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await send({"type": "websocket.accept"})
        try:
            while True:
                await send({"type": "websocket.send", "bytes": bytes(MEGABYTE)})
                sent += 1
        except OSError:
            dropped.set()

    config = uvicorn.Config(
        app, http=LimitedConnection, ws=LimitedSocket, ws_ping_interval=0.2, ws_ping_timeout=0.2, log_level="warning"
    )
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: LimitedConnection(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    async with server:
        browser = socket.create_connection(server.sockets[0].getsockname())
        browser.sendall(HANDSHAKE)
        await asyncio.wait_for(dropped.wait(), 10)
        assert sent < 64  # what the buffers of two sockets hold
        browser.close()
