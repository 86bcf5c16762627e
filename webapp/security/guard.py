"""Checks the Host, Origin and Sec-Fetch headers of every HTTP request and socket before anything else.

A page of another origin can make a browser send requests with the user's cookie, and DNS rebinding makes such a page
look like our own. So a request passes only if

1. it has exactly one Host, and that is a trusted one with its port;
2. its Origin, if it has one, is a trusted origin and has the same host and port as that Host;
3. its Sec-Fetch-Site is not another site, except for top-level navigation by a link.

Signing in does not replace any of these checks. Refusals are logged; the validator of Channels logs nothing.
"""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings

from webapp.security.authorities import DEFAULT_PORTS, authority, origin
from webapp.security.headers import HEADERS

log = logging.getLogger(__name__)

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
FOREIGN_SITES = {"cross-site", "same-site"}
FRAMES = {"iframe", "frame", "object", "embed", "fencedframe"}

Refusal = tuple[int, str]


class OriginGuard:
    """ASGI middleware."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        refused = refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refused is None:
            await self.inner(scope, receive, send)
            return
        log.warning("Refused %s %r: %s", scope["type"], scope.get("path"), refused[1])
        if scope["type"] == "websocket":
            await receive()  # the connect message; closing before accepting answers with status 403
            await send({"type": "websocket.close", "code": 4403})
        else:
            await _answer(send, *refused)


def refusal(scope: dict[str, Any]) -> Refusal | None:
    """The status and the reason, or None if the request passes."""
    hosts = _values(scope, b"host")
    if len(hosts) != 1:
        return 400, f"{len(hosts)} Host headers were sent. Send exactly one."
    candidates = _authorities(hosts[0])
    if not candidates & settings.TRUSTED_HOSTS:
        return (
            400,
            f"Host {hosts[0][:200]!r} is not allowed. Use the URL that Starboard printed, or see STARBOARD_HOSTS.",
        )
    origins = _values(scope, b"origin")
    return (_origin_refusal(origins, candidates) if origins else None) or _site_refusal(scope)


def _authorities(host: str) -> set[str]:
    """A Host without a port may mean the port of http or, behind a proxy that terminates TLS, of https."""
    return {found for port in DEFAULT_PORTS.values() if (found := authority(host, port)) is not None}


def _origin_refusal(origins: list[str], hosts: set[str]) -> Refusal | None:
    found = origin(origins[0]) if len(origins) == 1 else None
    if found is None or found not in settings.TRUSTED_ORIGINS:
        return 403, f"Origin {', '.join(origins)[:200]!r} is not trusted. Open Starboard at its own URL."
    if found.partition("://")[2] not in hosts:
        return 403, f"Origin {origins[0][:200]!r} does not match the Host of the request."
    return None


def _site_refusal(scope: dict[str, Any]) -> Refusal | None:
    """Also for requests without an Origin. Only browsers send Sec-Fetch headers, and pages cannot forge them."""
    if not FOREIGN_SITES & set(_values(scope, b"sec-fetch-site")):
        return None
    safe = scope["type"] == "http" and scope["method"] in SAFE_METHODS
    followed = _values(scope, b"sec-fetch-mode") == ["navigate"] and not FRAMES & set(_values(scope, b"sec-fetch-dest"))
    return None if safe and followed else (403, "The request comes from another site.")


def _values(scope: dict[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key.lower() == name]


async def _answer(send: Any, status: int, reason: str) -> None:
    """Answers in plain text, with the same headers as any other response."""
    headers = {
        **HEADERS,
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "Cache-Control": "no-store",
        "Connection": "close",
    }
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": f"{reason}\n".encode()})
