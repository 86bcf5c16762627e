"""Bodies that are larger than anything the site takes are refused before they are stored."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import urlsplit

import pytest
from pytest_django import Settings

from tests.webapp.security.live_site import live_site
from tests.webapp.security.wire import http as over_the_wire
from webapp.launching.uploads import MOST_MEGABYTES
from webapp.security.body_limit import BodyLimit, limit_of

MEGABYTE = 1_000_000


async def site(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Reads the body, as Django does before any view."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_limits_leave_room_for_the_errors_of_pages_and_operations() -> None:
    from webapp.api.resources import ingestion, played_evaluations

    assert limit_of("POST", "/runs/import/") > MOST_MEGABYTES * MEGABYTE
    assert limit_of("POST", "/api/v1/ingest/") > max(ingestion.MOST_BYTES, played_evaluations.MOST_BYTES)
    assert limit_of("GET", "/healthz") == 64 * 1024


@pytest.mark.parametrize(
    ("method", "path", "size", "status"),
    [
        ("GET", "/healthz", 64 * 1024, 204),
        ("GET", "/healthz", 64 * 1024 + 1, 413),
        ("POST", "/runs/new/", 12 * MEGABYTE, 204),
        ("POST", "/runs/new/", 12 * MEGABYTE + 1, 413),
        ("POST", "/api/v1/runs/", 20 * MEGABYTE + 1, 413),
        ("POST", "/runs/import/", 100 * MEGABYTE, 204),
    ],
)
async def test_a_body_that_is_announced_as_too_large_is_not_read(
    method: str, path: str, size: int, status: int
) -> None:
    answer = await over_the_wire(BodyLimit(site), method, path, [("Content-Length", str(size))])
    assert answer.status == status
    if status == 413:
        assert f"may have {limit_of(method, path):,} bytes" in answer.body


async def test_a_body_that_grows_without_being_announced_is_cut_off() -> None:
    answer = await over_the_wire(BodyLimit(site), "POST", "/runs/new/", [], body=b"x" * (12 * MEGABYTE + 1))
    assert answer.status == 413


def test_the_site_refuses_a_chunked_body_without_end(db: None, settings: Settings) -> None:
    """20 MB in chunks, to a page that takes no body."""
    with live_site(settings) as origin:
        connection = http.client.HTTPConnection(urlsplit(origin).netloc, timeout=30)
        connection.putrequest("GET", "/healthz")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        try:
            for _ in range(20 * MEGABYTE // 0x10000):
                connection.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            answer = str(connection.getresponse().status)
        except OSError:
            answer = "closed"  # the site answered and closed the connection while we were sending
        assert answer in ("413", "closed")
