"""The site's WebSocket connections. One whose browser does not answer is dropped, with what it has not read.

uvicorn closes it once what was sent has been read, which a browser that reads nothing, as in a frozen tab, never does.
"""

from __future__ import annotations

from typing import ClassVar

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class LimitedSocket(WebSocketsSansIOProtocol):
    reading_seconds: ClassVar[float] = 30.0  # for the rest, once a ping was not answered in time

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(self.reading_seconds, self.transport.abort)
