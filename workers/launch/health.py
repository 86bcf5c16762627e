"""`python -m workers.launch.health [site | worker]`: exit status 0 if that of this machine is alive. For container
health checks.

The site has to answer; a worker has to have announced itself in Redis, which it does while its loop takes tasks.
"""

from __future__ import annotations

import os
import socket
import sys
from http.client import HTTPConnection, HTTPException

from webapp import environ

SECONDS = 5
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # whoever listens at all addresses answers at loopback


def site_is_healthy() -> bool:
    return answers(environ.integer("PORT", 8000, low=1, high=65535), environ.text("STARBOARD_BIND", "127.0.0.1"))


def answers(port: int, bind: str) -> bool:
    try:
        return status(port, bind, SECONDS) == 200
    except (HTTPException, OSError):
        return False


def status(port: int, bind: str, seconds: float) -> int:
    """Of `/healthz`, asked at the address that the site listens on, past any proxy of the machine, and by the host that
    it always trusts. Raises `HTTPException` or `OSError` if there is none."""
    address = bind.strip("[]")
    connection = HTTPConnection(ANY.get(address, address), port, timeout=seconds)
    try:
        connection.request("GET", "/healthz", headers={"Host": f"127.0.0.1:{port}"})
        return connection.getresponse().status
    finally:
        connection.close()


def worker_is_healthy() -> bool:
    import redis

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    from webapp.monitoring.presence import WORKER, present

    try:
        return any(facts["name"].startswith(f"{socket.gethostname()}:") for facts in present(WORKER))
    except redis.RedisError:
        return False


CHECKS = {"site": site_is_healthy, "worker": worker_is_healthy}


def main(arguments: list[str]) -> int:
    part = arguments[0] if arguments else "site"
    if part not in CHECKS or len(arguments) > 1:
        sys.stderr.write(f"Give one of {', '.join(CHECKS)}, not {' '.join(arguments)}.\n")
        return 2
    return 0 if CHECKS[part]() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
