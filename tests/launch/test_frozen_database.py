"""A database that accepts connections and never answers: the health check says so within two seconds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from tests.launch.installation import free_port

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture
def silent_server() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener.getsockname()[1]


@pytest.fixture
def site(silent_server: int, tmp_path: Path) -> Iterator[int]:
    port = free_port()
    environment = {
        **os.environ,
        "STARBOARD_DATA_DIR": str(tmp_path),
        "PORT": str(port),
        "DATABASE_URL": f"postgres://ada@127.0.0.1:{silent_server}/starboard",
    }
    process = subprocess.Popen([sys.executable, "-m", "workers.launch.web"], cwd=REPOSITORY, env=environment)
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def answer(port: int) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def first_answer(port: int) -> tuple[int, str]:
    deadline = time.monotonic() + 60
    while True:
        try:
            return answer(port)
        except URLError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_the_health_check_answers_although_the_database_does_not(site: int) -> None:
    assert first_answer(site)[0] == 503
    began = time.monotonic()
    status, text = answer(site)
    assert time.monotonic() - began < 4
    assert status == 503
    assert "database has not answered for 2 seconds" in text
