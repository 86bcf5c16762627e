"""The site on a real port, in a thread of the test process, so that it shares the test's database."""

from __future__ import annotations

import contextlib
import functools
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
    """Its origin, which is the same in all tests of a process, so that a browser needs each script once. The guard
    accepts the port only while the site is open."""
    from webapp.asgi import application, django_pages

    port = _held_port().getsockname()[1]
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        settings.TRUSTED_ORIGINS = trusted_origins(port, [])
        settings.TRUSTED_HOSTS = trusted_hosts(port, [], settings.TRUSTED_ORIGINS)
        server = uvicorn.Server(
            uvicorn.Config(application, http=LimitedConnection, ws=LimitedSocket, log_level="warning", lifespan="off")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        _wait_for(server)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join(START_SECONDS)
            django_pages.end_threads()  # whose connections would keep a test's database from being removed


@functools.cache
def _held_port() -> socket.socket:
    """Keeps a port for this process: others are not given one that is bound, and only who listens gets connections."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def _wait_for(server: uvicorn.Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        assert time.monotonic() < deadline, "the site did not open"
        time.sleep(0.02)
