"""A small server with the routes and messages of OpenEnv that its WebSocket clients use."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

ONE_FIELD = {"properties": {"message": {"type": "string"}, "metadata": {"type": "object"}}}
TWO_FIELDS = {"properties": {"tool": {"type": "string"}, "count": {"type": "integer"}}}


class CountingSessions:
    """Each connection counts up to the number that its seed names; a step is answered by the count."""

    def __init__(self, *, schema: dict[str, Any] | None = None, capacity: int = 8) -> None:
        self.schema, self.capacity = schema or ONE_FIELD, capacity
        self.open = 0
        self.lock = threading.Lock()

    def http(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path != "/schema":
            return None
        body = json.dumps({"action": self.schema, "observation": {}, "state": {}}).encode()
        headers = Headers({"Content-Type": "application/json", "Content-Length": str(len(body))})
        return Response(HTTPStatus.OK, "OK", headers, body)

    def session(self, connection: ServerConnection) -> None:
        with self.lock:
            self.open += 1
            full = self.open > self.capacity
        try:
            self._answer(connection, full)
        finally:
            with self.lock:
                self.open -= 1

    def _answer(self, connection: ServerConnection, full: bool) -> None:
        count, goal = 0, 0
        for text in connection:
            message = json.loads(text)
            data = message.get("data", {})
            if message["type"] == "close":
                return
            if full:
                connection.send(_error("CAPACITY_REACHED", "server at capacity"))
            elif message["type"] == "reset":
                count, goal = 0, 2 + data["seed"] % 3
                connection.send(_observation(f"count to {goal}", None, False))
            elif set(data) - set(self.schema["properties"]):
                connection.send(_error("VALIDATION_ERROR", "unknown field"))
            elif data.get("message") == "raise":
                connection.send(_error("EXECUTION_ERROR", "it broke"))
            else:
                count += 1
                connection.send(_observation(f"{count} of {goal}", float(count == goal), count == goal))


def _observation(text: str, reward: float | None, done: bool) -> str:
    return json.dumps(
        {"type": "observation", "data": {"observation": {"message": text}, "reward": reward, "done": done}}
    )


def _error(code: str, message: str) -> str:
    return json.dumps({"type": "error", "data": {"code": code, "message": message}})


@contextmanager
def counting(**options: Any) -> Iterator[tuple[str, CountingSessions]]:
    """The address of a server, and its sessions."""
    sessions = CountingSessions(**options)
    server: Server = serve(sessions.session, "127.0.0.1", 0, process_request=sessions.http)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}", sessions
    finally:
        server.shutdown()
        thread.join(5)
