"""Which processes of an installation are alive, on any machine, and what they report about themselves.

Each announces itself under a key in Redis that expires, so that a process that was killed or frozen, or whose machine
is gone, is missing soon, and no clock but that of Redis matters. It is shown to operators, and the
launcher of `make run` ends a worker of its own that is missing for too long.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings

log = logging.getLogger(__name__)

ANNOUNCE_SECONDS = 5.0
EXPIRY_SECONDS = 20
PREFIX = "starboard.presence"
WORKER = "worker"  # as workers announce themselves

Facts = dict[str, Any]


def process_name(pid: int | None = None) -> str:
    """Unique among the processes of an installation: of this process, or of another on this machine."""
    return f"{socket.gethostname()}:{pid or os.getpid()}"


def announce(kind: str, facts: Facts) -> None:
    """Says for the next 20 seconds that this process is alive."""
    redis_client().set(key(kind), json.dumps({"name": process_name(), **facts}), ex=EXPIRY_SECONDS)


def withdraw(kind: str) -> None:
    redis_client().delete(key(kind))


def present(kind: str) -> list[Facts]:
    """What the processes of a kind that are alive have reported, in the order of their names."""
    client = redis_client()
    keys = list(client.scan_iter(match=f"{PREFIX}.{kind}.*", count=1000))
    found = [json.loads(value) for value in (client.mget(keys) if keys else []) if value is not None]
    return sorted(found, key=lambda facts: str(facts["name"]))


class Announcer:
    """A thread that announces this process until it is stopped, whenever the process `works`."""

    def __init__(self, kind: str, facts: Callable[[], Facts], works: Callable[[], bool] = lambda: True) -> None:
        self.kind, self.facts, self.works = kind, facts, works
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"presence of {kind}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Other processes know at once."""
        self._done.set()
        self._thread.join(ANNOUNCE_SECONDS)
        self._try(lambda: withdraw(self.kind))

    def _run(self) -> None:
        while True:
            if self.works():
                self._try(lambda: announce(self.kind, self.facts()))
            if self._done.wait(ANNOUNCE_SECONDS):
                return

    def _try(self, act: Callable[[], None]) -> None:
        import redis

        try:
            act()
        except redis.RedisError as error:
            log.info("The presence of this %s cannot be announced now: %s", self.kind, error)
        except Exception:  # whoever is no longer announced counts as hanging
            log.exception("The presence of this %s could not be announced", self.kind)


def key(kind: str, pid: int | None = None) -> str:
    return f"{PREFIX}.{kind}.{process_name(pid)}"


def redis_client() -> Any:
    return connect(settings.REDIS_URL)


@cache
def connect(url: str) -> Any:
    import redis

    return redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
