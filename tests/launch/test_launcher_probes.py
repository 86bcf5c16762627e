"""What a site, a worker and Redis are asked by the launcher, with real servers: what counts as an answer, what as none,
and what as nobody's fault.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.launch.installation import free_port
from webapp.monitoring.presence import WORKER, key
from workers.launch import probes
from workers.launch.redis_server import command, find_server, socket_path

PID = 4_000_001


class SiteWithoutDatabase(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def no_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Redis:
    def __init__(self, directory: Path) -> None:
        self.path = socket_path(directory)
        self.url = f"unix://{self.path}"
        self.process = subprocess.Popen(command(find_server(), self.path), stdout=subprocess.DEVNULL)
        self.client = redis.Redis(unix_socket_path=str(self.path))
        deadline = time.monotonic() + 20
        while not self.path.exists():
            assert self.process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)

    def run_a_script_without_end(self) -> None:
        self.client.config_set("lua-time-limit", 50)  # milliseconds, until it says so

        def run() -> None:
            once = Retry(NoBackoff(), 0)
            with suppress(redis.RedisError), redis.Redis(unix_socket_path=str(self.path), retry=once) as client:
                client.eval("while true do end", 0)

        threading.Thread(target=run, daemon=True).start()

    def end(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Redis]:
    one = Redis(tmp_path)
    yield one
    one.end()


def test_a_site_whose_database_is_away_has_answered() -> None:
    server = HTTPServer(("127.0.0.1", 0), SiteWithoutDatabase)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert probes.site(server.server_address[1], "127.0.0.1", 10.0)(PID) is True
    server.shutdown()
    server.server_close()


def test_a_site_that_accepts_connections_and_sends_nothing_has_not_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        assert probes.site(hanging.getsockname()[1], "127.0.0.1", 0.2)(PID) is False


def test_a_site_that_does_not_listen_has_not_answered() -> None:
    assert probes.site(free_port(), "127.0.0.1", 5.0)(PID) is False


def test_a_launcher_without_descriptors_cannot_ask_and_blames_nobody(server: Redis) -> None:
    probe = probes.site(free_port(), "127.0.0.1", 5.0)
    with no_descriptors():
        assert probe(PID) is None
        assert probes.private_redis(server.path, 5.0)(PID) is None


def test_redis_answers(server: Redis) -> None:
    assert probes.private_redis(server.path, 5.0)(PID) is True


def test_redis_within_a_script_without_end_has_not_answered(server: Redis) -> None:
    server.run_a_script_without_end()
    probe, deadline = probes.private_redis(server.path, 5.0), time.monotonic() + 10
    while probe(PID) is not False:
        assert time.monotonic() < deadline
    assert probe(PID) is False


def test_redis_that_accepts_no_connection_or_is_gone_has_not_answered(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    assert probes.private_redis(path, 0.2)(PID) is False
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(path))
        hanging.listen(0)
        probe = probes.private_redis(path, 0.2)
        assert probe(PID) is False
        assert probe(PID) is False  # the connection before still waits to be admitted, and there is room for one


def test_a_worker_answers_by_announcing_itself_under_its_process_id(server: Redis) -> None:
    probe = probes.worker(server.url)
    assert probe(PID) is False
    server.client.set(key(WORKER, PID), "{}")
    assert probe(PID) is True
    assert probe(PID + 1) is False


def test_nothing_is_known_of_a_worker_while_redis_is_away_full_or_hangs(server: Redis) -> None:
    assert probes.worker(f"redis://127.0.0.1:{free_port()}/0")(PID) is None
    probe = probes.worker(server.url)
    server.client.config_set("maxmemory", 1)
    assert probe(PID) is None  # workers cannot announce themselves
    server.client.config_set("maxmemory", 0)
    assert probe(PID) is False
    server.run_a_script_without_end()
    deadline = time.monotonic() + 10
    while probe(PID) is not None:
        assert time.monotonic() < deadline
