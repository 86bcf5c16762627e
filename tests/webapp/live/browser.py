"""The browser's end of a socket, directly on the ASGI application."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter

from webapp.routing import websocket_urlpatterns

PATIENCE_SECONDS = 60.0  # nothing waits so long but on a machine that is busy with other tests


class Browser:
    def __init__(self, address: str, session: Any) -> None:
        path, _, query = address.partition("?")
        scope = {
            "type": "websocket",
            "path": f"/{path.lstrip('/')}",
            "query_string": query.encode(),
            "headers": [],
            "subprotocols": [],
            "session": session,
        }
        self.vanished = False
        self.delay = 0.0  # seconds that it takes for each message
        self.wire: Any = ApplicationCommunicator(self._application, scope)  # type: ignore[no-untyped-call]

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        async def to_browser(message: Any) -> None:
            if self.vanished:
                raise ConnectionResetError("as servers do, by the specification of ASGI")
            await asyncio.sleep(self.delay)
            await send(message)

        await URLRouter(websocket_urlpatterns)(scope, receive, to_browser)  # type: ignore[no-untyped-call]

    async def connect(self) -> None:
        await self.wire.send_input({"type": "websocket.connect"})
        assert (await self.receive())["type"] == "websocket.accept"

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = await self.wire.receive_output(PATIENCE_SECONDS)
        return message

    async def send(self, text: str) -> None:
        await self.wire.send_input({"type": "websocket.receive", "text": text})

    async def until(self, kind: str) -> dict[str, Any]:
        """The next message of that kind; earlier ones of other kinds are skipped."""
        while True:
            message = json.loads((await self.receive())["text"])
            if message["kind"] == kind:
                found: dict[str, Any] = message
                return found

    async def close_code(self) -> int:
        """Waits until the server closes."""
        while (message := await self.receive())["type"] != "websocket.close":
            pass
        return int(message["code"])

    async def leave(self) -> None:
        if self.wire.future.cancelled():  # by a wait that was too long; its error is the one to report
            return
        await self.wire.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wire.wait(PATIENCE_SECONDS)
