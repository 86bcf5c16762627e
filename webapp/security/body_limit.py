"""Refuses bodies that are larger than anything the site takes, before they are stored anywhere.

Django writes a body to a temporary file before any view sees it, also for a page that takes none. Pages and operations
have lower limits of their own, whose errors say what to do.
"""

from __future__ import annotations

from typing import Any

MEGABYTE = 1_000_000
NONE_TAKEN = 64 * 1024  # for methods whose bodies mean nothing
FORMS = 12 * MEGABYTE
LARGER = {"/api/": 20 * MEGABYTE, "/runs/import/": 128 * MEGABYTE}  # by how the path begins
WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


def limit_of(method: str, path: str) -> int:
    """Bytes."""
    if method in WITHOUT_BODY:
        return NONE_TAKEN
    return next((most for start, most in LARGER.items() if path.startswith(start)), FORMS)


class TooLarge(Exception):
    """More bytes have come than the request may have."""


class BodyLimit:
    """ASGI middleware."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        most = limit_of(scope["method"], scope["path"])
        if _announced(scope) > most:
            await _refuse(send, most)
            return
        received, begun = 0, False

        async def counted() -> dict[str, Any]:
            nonlocal received
            message: dict[str, Any] = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise TooLarge
            return message

        async def noted(message: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.inner(scope, counted, noted)
        except TooLarge:
            if not begun:
                await _refuse(send, most)


def _announced(scope: dict[str, Any]) -> int:
    """The Content-Length; 0 without one, or where it is no number, which the server refuses."""
    given = next((value for name, value in scope["headers"] if name.lower() == b"content-length"), b"0")
    return int(given) if given.isdigit() else 0


async def _refuse(send: Any, most: int) -> None:
    text = f"The body of this request may have {most:,} bytes.\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": text})
