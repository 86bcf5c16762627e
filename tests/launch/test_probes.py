"""What the launcher asks before and after it starts the site: the data directory's lock, and whether it answers."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.launch.installation import free_port
from workers.launch.health import answers
from workers.launch.preflight import CannotStart, take_lock

hosts: list[str] = []


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        hosts.append(str(self.headers["Host"]))
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


class SiteOfVersion6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@pytest.fixture(params=["127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost", "[::1]", "[::]"])
def site(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """Its address, as `STARBOARD_BIND` has it, and its port."""
    hosts.clear()
    bind = str(request.param)
    kind = SiteOfVersion6 if ":" in bind else ThreadingHTTPServer
    try:
        server = kind((bind.strip("[]"), 0), Site)
    except OSError:
        pytest.skip(f"this machine has no {bind}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield bind, server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_site_answers_at_the_address_that_it_is_bound_to_whatever_proxy_the_machine_has(
    site: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    bind, port = site
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    assert answers(port, bind)
    assert hosts == [f"127.0.0.1:{port}"]  # which is always trusted


def test_a_site_that_is_not_there_does_not_answer() -> None:
    assert not answers(free_port(), "127.0.0.1")
    assert not answers(free_port(), "no-such-name.invalid")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    umask = os.umask(0o077)
    folder = tmp_path / "data"
    folder.mkdir()
    yield folder
    os.umask(umask)


def test_a_second_launcher_names_the_process_that_has_the_data_directory(data: Path) -> None:
    with take_lock(data, 8000), pytest.raises(CannotStart, match=rf"already runs in .* \(process {os.getpid()}, port"):
        take_lock(data, 8001)
    take_lock(data, 8001).close()  # it was released


def test_a_lock_that_is_a_link_is_not_followed_and_what_it_leads_to_is_kept(data: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    diary.write_text("dear diary")
    (data / "launch.lock").symlink_to(diary)
    with pytest.raises(CannotStart, match=r"launch\.lock cannot be locked: .* Remove it"):
        take_lock(data, 8000)
    assert diary.read_text() == "dear diary"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_lock_that_is_no_file_is_refused_by_its_name(data: Path, make: object) -> None:
    make(data / "launch.lock")  # type: ignore[operator]
    with pytest.raises(CannotStart, match=r"launch\.lock cannot be locked: .* Remove it"):
        take_lock(data, 8000)


def test_a_file_system_without_locks_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(CannotStart, match=r"No locks available\. Set STARBOARD_DATA_DIR to"):
        take_lock(data, 8000)
