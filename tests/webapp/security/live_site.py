"""The site on a real port, in a thread of the test process, so that it shares the test's database."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn
from pytest_django import Settings

from webapp.security.authorities import trusted_hosts, trusted_origins
from workers.launch.connections import LimitedConnection
from workers.launch.sockets import LimitedSocket

START_SECONDS = 20.0


@contextlib.contextmanager
def live_site(settings: Settings) -> Iterator[str]:
    """Its origin. The guard accepts the port only while the site is open."""
    from webapp.asgi import application

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        settings.TRUSTED_ORIGINS = trusted_origins(port, [])
        settings.TRUSTED_HOSTS = trusted_hosts(port, [], settings.TRUSTED_ORIGINS)
        server = uvicorn.Server(
            uvicorn.Config(application, http=LimitedConnection, ws=LimitedSocket, log_level="warning", lifespan="off")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        _wait_for(server)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = server.force_exit = True
        thread.join(START_SECONDS)


def _wait_for(server: uvicorn.Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        assert time.monotonic() < deadline, "the site did not open"
        time.sleep(0.02)
