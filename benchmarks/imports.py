"""An upload of 20,000 rollouts: seconds of the request, until the run is there, and until all its rows are.

The request is the form's, through all of the site's middleware, into a new database; the import is played as a worker
plays it, by an engine process, and its run is indexed.

    python -m benchmarks.imports [--postgres]
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.databases import add_option, database, prepare_site

LINES, GROUPS, STEPS = 20_000, 16, 50
THOUGHT = "The goal is two columns to the right, and the hole below must be avoided. " * 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres):
        prepare_site(Path(scratch))
        result = measure()
    sys.stdout.write(json.dumps({"benchmark": "imports", "lines": LINES, **result}) + "\n")
    return 0


def measure() -> dict[str, float]:
    from django.contrib.auth.models import User
    from django.test import Client, override_settings

    from webapp.launching.models import RolloutImport
    from workers.imports import HeldImport
    from workers.indexing import index

    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    file = io.BytesIO("\n".join(line(number) for number in range(LINES)).encode())
    file.name = "rollouts.jsonl"
    with override_settings(ALLOWED_HOSTS=["*"]):
        client.get("/runs/import/")  # the first request of a process imports the site
        began = time.monotonic()
        answer = client.post("/runs/import/", {"file": file})
        answered = time.monotonic() - began
    if answer.status_code != 302:
        raise SystemExit(f"The upload was answered with {answer.status_code}")
    found = RolloutImport.objects.get()
    HeldImport.play(found.pk, threading.Event())
    imported = time.monotonic() - began
    found.refresh_from_db()
    if found.run is None or found.accepted != LINES:
        raise SystemExit(f"{found.accepted} of {LINES} lines were imported: {found.message}")
    index(found.run.pk)
    indexed = time.monotonic() - began
    if found.run.trajectories.count() != LINES:
        raise SystemExit(f"{found.run.trajectories.count()} rows instead of {LINES}")
    return {"request_seconds": round(answered, 2), "run_seconds": round(imported, 1), "rows_seconds": round(indexed, 1)}


def line(number: int) -> str:
    """As verl writes it, in groups."""
    fields = {
        "input": f"problem {number % GROUPS} of step {number % STEPS}: S . . G",
        "output": f"<think>{THOUGHT}</think><answer>Right</answer>",
        "score": number % 2,
        "step": number % STEPS,
    }
    return json.dumps(fields)


if __name__ == "__main__":
    sys.exit(main())
