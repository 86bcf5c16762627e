"""Metric values a second, from an engine's file to committed rows, by one worker: 400 steps of 120 metrics.

The rows are those that pages read, written by the worker's own bridge into a new database. For comparison in the same
run: the same values without any of our code, one narrow row a value, committed once a step, into SQLite with the
standard library or, with `--postgres`, into the same server with psycopg.

    python -m benchmarks.ingestion [--postgres]
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.databases import add_option, database, prepare_site, vendor
from tests.on_postgres import PostgreSQL

STEPS, METRICS, REPEATS = 400, 120, 5
VALUES = STEPS * METRICS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres) as server:
        prepare_site(Path(scratch))
        ours = statistics.median(VALUES / ingest(repeat) for repeat in range(REPEATS))
        narrow = statistics.median(
            VALUES / (narrow_postgres(server) if server else narrow_sqlite(Path(scratch) / f"{n}.sqlite3"))
            for n in range(REPEATS)
        )
    result = {"values_per_second": round(ours), "narrow_rows": round(narrow), "ratio": round(ours / narrow, 2)}
    sys.stdout.write(json.dumps({"benchmark": "ingestion", "database": vendor(), **result}) + "\n")
    return 0


def ingest(repeat: int) -> float:
    """Seconds from a finished file to rows, offset and all."""
    from webapp.runs.models import Run
    from workers.bridge import Bridge

    run = Run.objects.create(name=f"bench-{repeat}", config={}, total_steps=STEPS)
    run.directory.mkdir(parents=True)
    (run.directory / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events()))
    began = time.monotonic()
    Bridge(run, run.epoch).drain()
    seconds = time.monotonic() - began
    if run.steps.count() != STEPS:
        raise SystemExit(f"{run.steps.count()} steps in the rows instead of {STEPS}")
    return seconds


def events() -> list[dict[str, Any]]:
    head = {"attempt": 1, "epoch": 0}
    start = {"kind": "run_started", "total_steps": STEPS, "pid": 1, "device": "cpu", "model": "tiny", "parameters": 1}
    made: list[dict[str, Any]] = [{**start, **head, "seq": 1, "step": 0, "time": 0.0}]
    for step in range(1, STEPS + 1):
        fields = {"metrics": values_of(step), "tokens": 9000 * step, "seconds": 2.0 * step}
        made.append({"kind": "step_completed", **head, "seq": step + 1, "step": step, "time": 2.0 * step, **fields})
    return made


def values_of(step: int) -> dict[str, float]:
    return {f"bench/metric_{number}": step / (number + 1) for number in range(METRICS)}


def narrow_sqlite(path: Path) -> float:
    """Seconds."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE value (run INTEGER, step INTEGER, name TEXT, value REAL)")
    steps = narrow_rows()
    began = time.monotonic()
    for rows in steps:
        with connection:
            connection.executemany("INSERT INTO value VALUES (?, ?, ?, ?)", rows)
    seconds = time.monotonic() - began
    connection.close()
    return seconds


def narrow_postgres(server: PostgreSQL) -> float:
    """Seconds."""
    import psycopg

    with psycopg.connect(server.url) as connection:
        connection.execute("DROP TABLE IF EXISTS value")
        connection.execute("CREATE TABLE value (run integer, step integer, name text, value double precision)")
        connection.commit()
        steps = narrow_rows()
        began = time.monotonic()
        for rows in steps:
            with connection.transaction():
                connection.cursor().executemany("INSERT INTO value VALUES (%s, %s, %s, %s)", rows)
        return time.monotonic() - began


def narrow_rows() -> list[list[tuple[int, int, str, float]]]:
    """Of each step."""
    return [[(1, step, name, value) for name, value in values_of(step).items()] for step in range(1, STEPS + 1)]


if __name__ == "__main__":
    sys.exit(main())
