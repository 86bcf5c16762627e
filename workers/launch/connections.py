"""The site's HTTP connections, with limits that uvicorn has none of: how long a request may take to arrive, how large
its head may be, and how many connections may wait for one.

Without them, connections that send nothing, or half a request, stay open without end and leave no room for others.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# h11 or httptools, whichever is installed; both have the attributes that are used here
Protocol: Any = AutoHTTPProtocol
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class LimitedConnection(Protocol):
    """It waits for a request from its beginning, and again after each response; of those that wait, the oldest has to
    go for a new one when there are too many."""

    request_seconds: ClassVar[float] = 10.0  # until the head of a request has arrived
    body_seconds: ClassVar[float] = 30.0  # without a byte of a body that has been announced
    largest_head: ClassVar[int] = 32 * 1024  # bytes
    most_waiting: ClassVar[int] = 400
    waiting: ClassVar[dict[LimitedConnection, None]] = {}  # oldest first

    _timer: asyncio.TimerHandle | None = None
    _head = 0  # bytes

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.waiting) > self.most_waiting:
            next(iter(self.waiting))._close()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        self._head += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is not before:
            self._stop_waiting()
        if self in self.waiting:
            if self._head > self.largest_head:
                self.transport.write(TOO_LARGE)
                self._close()
        elif self._takes_body():
            self._time(self.body_seconds, self._close_if_stalled)

    def handle_websocket_upgrade(self, *request: Any) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(*request)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._head = 0
        self.waiting[self] = None
        self._time(self.request_seconds, self._close)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def _takes_body(self) -> bool:
        return self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete

    def _close_if_stalled(self) -> None:
        if not self._takes_body():
            return
        if self.flow.read_paused:  # by us, because the site has not read what came
            self._time(self.body_seconds, self._close_if_stalled)
        else:
            self._close()

    def _time(self, seconds: float, then: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, then)

    def _close(self) -> None:
        self._stop_waiting()
        self.transport.close()
