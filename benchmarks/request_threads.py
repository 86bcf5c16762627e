"""What a request takes in a thread that has its database connection already, and with Django's own handler, which
starts a thread and opens a connection for each request.

Both serve the same site with a few runs in this process, and are asked in turn over a connection that is kept.

    python -m benchmarks.request_threads [--turns N] [--postgres]

`milliseconds` are medians until the answer has arrived.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.databases import add_option, database, prepare_site, vendor
from benchmarks.reader_opening import server
from benchmarks.recording import a_token

RUNS = 20
WARM_UP = 20
PATHS = {"healthz": "/healthz", "a_run": "/api/v1/runs/?limit=1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=200)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres):
        prepare_site(Path(scratch))
        result = {"database": vendor(), "milliseconds": measure(options.turns)}
    sys.stdout.write(json.dumps({"benchmark": "request_threads", **result}) + "\n")
    return 0


def measure(turns: int) -> dict[str, dict[str, float]]:
    """Of each path, by handler."""
    from django.core.handlers.asgi import ASGIHandler

    from tests.builders.runs import build_run
    from webapp.request_threads import ThreadedHandler

    token = a_token()
    for _ in range(RUNS):
        build_run()
    with server(ThreadedHandler()) as kept, server(ASGIHandler()) as django:
        sites = {"kept": kept, "django": django}
        lines = {name: http.client.HTTPConnection(urlsplit(url).netloc) for name, url in sites.items()}
        return {name: medians(lines, path, token, turns) for name, path in PATHS.items()}


def medians(lines: dict[str, http.client.HTTPConnection], path: str, token: str, turns: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(WARM_UP + turns):
        for name, line in lines.items():
            began = time.perf_counter()
            line.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = line.getresponse()
            answer.read()
            taken[name].append(1000 * (time.perf_counter() - began))
            if answer.status != 200:
                raise RuntimeError(f"{path} answered {answer.status}")
    return {name: round(statistics.median(found[WARM_UP:]), 2) for name, found in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
