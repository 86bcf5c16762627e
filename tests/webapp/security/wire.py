"""Requests as bytes on the wire, with duplicated or missing headers that no ordinary client would send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asgiref.testing import ApplicationCommunicator

Header = tuple[str, str]
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str


async def http(app: Any, method: str, path: str, headers: list[Header], body: bytes = b"") -> Answer:
    wire = ApplicationCommunicator(app, _scope("http", path, headers) | {"method": method, "http_version": "1.1"})
    await wire.send_input({"type": "http.request", "body": body})
    start = await wire.receive_output(PATIENCE_SECONDS)
    parts, more = [], True
    while more:
        message = await wire.receive_output(PATIENCE_SECONDS)
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    await wire.wait(PATIENCE_SECONDS)
    found = {name.decode().title(): value.decode() for name, value in start["headers"]}
    return Answer(status=start["status"], headers=found, body=b"".join(parts).decode())


async def socket(app: Any, path: str, headers: list[Header], *, words: int = 1) -> list[dict[str, Any]]:
    """The first `words` of the server's response: accept, or close with a code."""
    wire = ApplicationCommunicator(app, _scope("websocket", path, headers) | {"subprotocols": []})
    await wire.send_input({"type": "websocket.connect"})
    sent = [await wire.receive_output(PATIENCE_SECONDS) for _ in range(words)]
    await wire.send_input({"type": "websocket.disconnect", "code": 1000})
    await wire.wait(PATIENCE_SECONDS)
    return [{key: value for key, value in word.items() if value is not None} for word in sent]


def _scope(kind: str, path: str, headers: list[Header]) -> dict[str, Any]:
    name, _, query = path.partition("?")
    return {
        "type": kind,
        "path": name,
        "raw_path": name.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http" if kind == "http" else "ws",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50_000),
        "headers": [(key.lower().encode(), value.encode("latin-1")) for key, value in headers],
    }
