"""The database or Redis is frozen for longer than the time after which an engine counts as stalled or lost: the site
says that it is not ready, and afterwards the worker goes on with a run that nobody has judged meanwhile.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.config import RunConfig
from tests.launch.deployment import Deployment, get, wait_for
from tests.launch.installation import free_port
from tests.on_postgres import PostgreSQL, find_programs

pytestmark = pytest.mark.slow

AWAY = 7.0  # seconds: more than twice the longest limit of `impatient_settings`
STEPS = 60
ROW = """
import json
from webapp.runs.models import Run
run = Run.objects.get()
print(json.dumps({
    "state": run.state, "attempt": run.attempt, "problems": run.record_problems.count(),
    "steps": list(run.steps.order_by("step").values_list("step", flat=True)),
    "faults": len(run.faults),
}))
"""


@contextmanager
def frozen(pids: list[int]) -> Iterator[None]:
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # of a connection that has ended meanwhile
            os.kill(pid, number)


def processes_of(server: PostgreSQL) -> list[int]:
    """The first one and its children, one for each connection."""
    first = int((server.home / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


def asked(port: int, path: str) -> int:
    """The status; within two seconds and what the machine takes."""
    began = time.monotonic()
    status = get(port, path)[0]
    assert time.monotonic() - began < 4.0
    return status


@pytest.mark.parametrize("frozen_part", ["database", "redis"])
def test_a_freeze_for_longer_than_any_limit_loses_no_run(tmp_path: Path, frozen_part: str) -> None:
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    port = free_port()
    with PostgreSQL(programs) as database, Deployment(tmp_path, database.url) as one:
        redis = one.start_redis()
        one.prepare()
        one.start_site(port)
        worker = one.start_worker(DJANGO_SETTINGS_MODULE="tests.launch.impatient_settings")
        run = one.submit(RunConfig.model_validate({"steps": STEPS, "description": "step_seconds=0.2"}), "paced")
        file = tmp_path / "data" / "runs" / run / "events.jsonl"
        wait_for(lambda: file.exists() and len(file.read_bytes().splitlines()) > 20, "an engine that writes")
        wait_for(lambda: get(port, "/readyz")[0] == 200, "a site that is ready")
        with frozen(processes_of(database) if frozen_part == "database" else [redis.pid]):
            until = time.monotonic() + AWAY
            wait_for(lambda: asked(port, "/readyz") == 503, "a site that is not ready", 10)  # answers are repeated
            while time.monotonic() < until:
                assert asked(port, "/readyz") == 503
                assert asked(port, "/healthz") == (503 if frozen_part == "database" else 200)
                time.sleep(0.5)
        wait_for(lambda: get(port, "/readyz")[0] == 200, "a site that is ready")
        finished = "from webapp.runs.models import Run; print(Run.objects.get().state)"
        wait_for(lambda: one.ask(finished).splitlines()[-1] not in ("running", "starting"), "the end of the run")
        row = json.loads(one.ask(ROW).splitlines()[-1])
        assert (row["state"], row["attempt"], row["problems"], row["faults"]) == ("finished", 1, 0, 0)
        assert row["steps"] == list(range(1, STEPS + 1))
        assert worker.poll() is None
