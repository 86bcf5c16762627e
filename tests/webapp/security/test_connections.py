"""Connections that send nothing, or half a request, are closed, and keep nobody out."""

from __future__ import annotations

import contextlib
import socket
import time
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pytest_django import Settings

from tests.webapp.security.live_site import live_site
from workers.launch.connections import LimitedConnection
from workers.launch.web import allow_many_connections

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never: "
MOST_WAITING = LimitedConnection.most_waiting


@pytest.fixture
def origin(transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(LimitedConnection, "request_seconds", 2.0)
    monkeypatch.setattr(LimitedConnection, "body_seconds", 2.0)
    with live_site(settings) as found:
        yield found


@contextlib.contextmanager
def connections(origin: str, count: int, beginning: bytes = b"") -> Iterator[list[socket.socket]]:
    """On loopback."""
    with contextlib.ExitStack() as stack:
        parts = urlsplit(origin)
        opened = [
            stack.enter_context(socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20))
            for _ in range(count)
        ]
        for one in opened:
            one.sendall(beginning)
        yield opened


def closed(one: socket.socket) -> bool:
    """Whether the server has closed it, after anything it sent."""
    one.setblocking(False)
    try:
        while one.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


def all_closed_within(opened: list[socket.socket], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not all(closed(one) for one in opened):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def status(origin: str) -> int:
    with urllib.request.urlopen(f"{origin}/healthz", timeout=20) as answer:
        return int(answer.status)


@pytest.mark.parametrize(
    "beginning",
    [b"", HALF, b"POST /accounts/login/ HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nuser"],
    ids=["idle", "half a head", "half a body"],
)
def test_a_connection_without_a_whole_request_is_closed(origin: str, beginning: bytes) -> None:
    beginning = beginning.replace(b"Host: h", b"Host: " + urlsplit(origin).netloc.encode())
    with connections(origin, 20, beginning) as opened:
        assert all_closed_within(opened, 15)


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(origin: str) -> None:
    began = time.monotonic()
    with connections(origin, 1, HALF) as [one]:
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 15:
                one.sendall(b"x")
                time.sleep(0.1)
        assert time.monotonic() - began < 15


def test_a_head_that_never_ends_is_refused(origin: str) -> None:
    with connections(origin, 1, HALF + b"x" * 40_000) as [one]:
        assert one.recv(12) in (b"HTTP/1.1 431", b"HTTP/1.1 400")  # h11 refuses it by itself, at 16 KiB


def test_the_health_check_answers_while_1150_idle_and_half_connections_are_opened(
    origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit of a real site: of 1,150, at least 750 have given way to newer ones."""
    monkeypatch.setattr(LimitedConnection, "request_seconds", 600.0)
    allow_many_connections()
    with connections(origin, 575) as idle, connections(origin, 575, HALF) as half:
        assert status(origin) == 200
        assert len(LimitedConnection.waiting) <= MOST_WAITING
        assert sum(closed(one) for one in [*idle, *half]) >= 1150 - MOST_WAITING


def test_a_connection_may_be_used_again_after_a_pause(origin: str) -> None:
    netloc = urlsplit(origin).netloc.encode()
    with connections(origin, 1) as [one]:
        for _ in range(3):
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + netloc + b"\r\n\r\n")
            assert one.recv(4096).startswith(b"HTTP/1.1 200")
            time.sleep(1.2)  # more than 2 seconds altogether
