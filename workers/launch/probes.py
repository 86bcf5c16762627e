"""Liveness probes of the launcher's processes: an answer proves that the process does its work.

True: it answered. False: it did not. None: it could not be probed, which is not its fault: this process has no
descriptors left, or a worker announces itself in a Redis that is away.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from webapp.monitoring.presence import EXPIRY_SECONDS, PREFIX, WORKER, connect, key
from workers.launch.health import status
from workers.launch.liveness import Answer
from workers.launch.watch import Probe

Exceptions = tuple[type[Exception], ...]
NO_ANSWER: Exceptions = (ConnectionError, TimeoutError, HTTPException)
# a Unix socket may also have been removed, or so many wait there that no more are admitted
NO_ANSWER_OF_SOCKET: Exceptions = (*NO_ANSWER, FileNotFoundError, BlockingIOError)


def site(port: int, bind: str, seconds: float) -> Probe:
    """Its event loop has to answer. Any status will do: a site whose database is away needs no restart."""
    return lambda pid: _answered(lambda: bool(status(port, bind, seconds)), NO_ANSWER)


def private_redis(path: Path, seconds: float) -> Probe:
    """Only PONG is an answer: a server within a script that does not end answers PING with an error."""

    def pong() -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")

    return lambda pid: _answered(pong, NO_ANSWER_OF_SOCKET)


def worker(redis_url: str) -> Probe:
    """It announces itself in Redis while its loop takes tasks. Nothing is known while Redis is away or refuses writes,
    so it is written to first."""

    def probe(pid: int) -> Answer:
        import redis

        try:
            client = connect(redis_url)
            client.set(f"{PREFIX}.launcher", pid, ex=EXPIRY_SECONDS)
            return bool(client.exists(key(WORKER, pid)))
        except redis.RedisError:
            return None

    return probe


def _answered(ask: Callable[[], bool], no_answer: Exceptions) -> Answer:
    try:
        return ask()
    except no_answer:
        return False
    except OSError:
        return None
