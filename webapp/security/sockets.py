"""Refuses sockets at unknown URLs, for which the router of Channels raises and logs a traceback."""

from __future__ import annotations

from typing import Any


class KnownSocketsOnly:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        try:
            await self.inner(scope, receive, send)
        except ValueError as error:
            if not str(error).startswith("No route found"):
                raise
            await receive()
            await send({"type": "websocket.close", "code": 4404})
