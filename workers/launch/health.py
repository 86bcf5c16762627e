"""`python -m workers.launch.health`: exit status 0 if the site of this machine answers. For container health checks."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

from webapp import environ


def is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(0 if is_healthy(environ.integer("PORT", 8000, low=1, high=65535)) else 1)
