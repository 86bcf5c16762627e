"""Requests that are sent again, against a server that fails as networks and busy sites do."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from starboard_client import ApiError, Unreachable
from starboard_client.transport import Transport, asked_for, backoff

ROOT = Path(__file__).parents[2]

Response = tuple[int, dict[str, str]] | None  # None hangs up without an answer


class Failing(ThreadingHTTPServer):
    """Answers with the next of `responses`, and then with 200."""

    def __init__(self) -> None:
        self.responses: list[Response] = []
        self.keys: list[str | None] = []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    server: Failing

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.keys.append(self.headers.get("Idempotency-Key"))
        response = self.server.responses.pop(0) if self.server.responses else (200, {})
        if response is None:
            self.close_connection = True
            return
        status, headers = response
        self.send_response(status)
        for name, value in {"Content-Length": "18", "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b'{"error": "busy" }')

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Failing]:
    with Failing() as found:
        threading.Thread(target=found.serve_forever, args=[0.01], daemon=True).start()
        yield found
        found.shutdown()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def transport(server: Failing, waits: list[float]) -> Iterator[Transport]:
    opened = Transport(f"http://127.0.0.1:{server.server_port}", "sb_x", timeout=5, retries=3, sleep=waits.append)
    yield opened
    opened.close()


def test_a_busy_site_is_asked_again_when_it_says(server: Failing, transport: Transport, waits: list[float]) -> None:
    server.responses = [(429, {"Retry-After": "7"}), (503, {"Retry-After": "11"})]
    transport.post("runs/a/control", {})
    assert waits == [7.0, 11.0]


def test_a_site_that_stays_busy_is_given_up(server: Failing, transport: Transport, waits: list[float]) -> None:
    server.responses = [(503, {})] * 9
    with pytest.raises(ApiError, match="busy"):
        transport.get("runs/")
    assert len(waits) == 3


def test_a_site_that_asks_for_too_long_is_given_up_at_once(
    server: Failing, transport: Transport, waits: list[float]
) -> None:
    server.responses = [(429, {"Retry-After": "86400"})]
    with pytest.raises(ApiError):
        transport.get("runs/")
    assert waits == []


def test_what_may_have_been_done_is_repeated_only_under_its_key(
    server: Failing, transport: Transport, waits: list[float]
) -> None:
    server.responses = [None]
    transport.get("runs/")
    server.responses = [None, (502, {})]
    transport.post("runs/", {}, key="k-1")
    assert server.keys[-3:] == ["k-1"] * 3
    server.responses = [None]
    with pytest.raises(Unreachable, match="does not answer"):
        transport.post("runs/a/control", {"action": "stop"})
    server.responses = [(502, {})]
    with pytest.raises(ApiError):
        transport.post("runs/a/control", {"action": "stop"})


def test_a_site_that_is_not_there_is_named(waits: list[float]) -> None:
    gone = Transport("http://127.0.0.1:1", "sb_x", timeout=1, retries=2, sleep=waits.append)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
        gone.post("runs/", {})  # never sent, so that it can be repeated
    assert len(waits) == 2


def test_waits_grow_with_chance_in_them_up_to_a_limit() -> None:
    # 0.5 * 2^n, at most 30, times 0.5 to 1
    assert all(
        0.25 <= backoff(0) <= 0.5 and 2.0 <= backoff(3) <= 4.0 and 15.0 <= backoff(50) <= 30.0 for _ in range(50)
    )
    assert len({backoff(3) for _ in range(10)}) > 1


def test_retry_after_is_a_number_or_a_date() -> None:
    assert asked_for("12", 0) == 12.0
    in_a_minute = format_datetime(datetime.now(UTC) + timedelta(seconds=60))
    assert 55 < asked_for(in_a_minute, 0) <= 60
    assert asked_for("Wed, 21 Oct 2015 07:28:00 GMT", 0) == 0.0
    assert 0.25 <= asked_for("soon", 0) <= 0.5


def test_the_client_loads_neither_the_site_nor_torch() -> None:
    code = (
        "import sys, starboard_client.cli\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} "
        "& {'django', 'torch', 'engine', 'webapp', 'workers', 'celery', 'numpy'}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "client", capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
