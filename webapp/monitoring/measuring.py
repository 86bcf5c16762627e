"""What this process of the site measures of itself: its requests, and the sockets that are open."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector

METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"}

# of this process alone: several sites are several targets of Prometheus
PROCESS = CollectorRegistry()
ProcessCollector(registry=PROCESS)
REQUESTS = Histogram(
    "starboard_request_duration_seconds",
    "Time until a response begins, by route as Django writes it.",
    ["method", "route", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=PROCESS,
)
SOCKETS = Gauge("starboard_open_sockets", "WebSockets that this process has open.", registry=PROCESS)


class RequestDurationMiddleware:
    """The first of all, so that it measures all that Django does."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        seconds = time.perf_counter() - began
        method = request.method if request.method in METHODS else "other"  # a client can send any word
        REQUESTS.labels(method, _route(request), str(response.status_code)).observe(seconds)
        return response


def _route(request: HttpRequest) -> str:
    """Never the path itself, of which there are any number."""
    if request.path.startswith("/static/"):
        return "static"
    return str(request.resolver_match.route) if request.resolver_match else "unknown"


class CountedSockets:
    """ASGI middleware around the sockets."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        is_open = False

        async def counted_send(message: dict[str, Any]) -> None:
            nonlocal is_open
            if message["type"] == "websocket.accept" and not is_open:
                is_open = True
                SOCKETS.inc()
            await send(message)

        try:
            await self.inner(scope, receive, counted_send)
        finally:
            if is_open:
                SOCKETS.dec()
