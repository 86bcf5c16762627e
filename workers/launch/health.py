"""`python -m workers.launch.health [site | worker]`: exit status 0 if that of this machine is alive. For container
health checks.

The site has to answer; a worker has to have announced itself in Redis, which it does while it takes tasks.
"""

from __future__ import annotations

import os
import socket
import sys
import urllib.error
import urllib.request

from webapp import environ


def site_is_healthy() -> bool:
    return answers(environ.integer("PORT", 8000, low=1, high=65535))


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


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
