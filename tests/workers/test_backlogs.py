"""A worker that takes over a run with many unread events: neither requests nor its own shutdown wait for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.workers.workplace import wait_for
from webapp.runs import services
from webapp.runs.models import Run
from workers import lease
from workers.process import identify
from workers.supervisor import supervise

pytestmark = pytest.mark.django_db(transaction=True)

BACKLOG = 100_000  # events


@pytest.fixture
def run(tmp_path: Path, settings: Any) -> Iterator[Run]:
    """Of an engine that is alive and has recorded the backlog."""
    settings.RUNS_DIR = str(tmp_path)
    cookie = "cookie-of-the-backlog"
    engine = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, "STARBOARD_RUN": cookie}
    )
    identity = identify(engine.pid, cookie)
    assert identity is not None
    made = Run.objects.create(name="calm-otter-12", config={}, state="running", process=identity.as_row())
    made.directory.mkdir(parents=True)
    (made.directory / "events.jsonl").write_text("".join(line(seq) for seq in range(1, BACKLOG + 1)))
    yield made
    engine.kill()
    engine.wait()


def line(seq: int) -> str:
    head = {"kind": "step_completed", "seq": seq, "time": 1000.0 + seq, "attempt": 1, "epoch": 1, "step": seq}
    return json.dumps({**head, "metrics": {"reward/mean": 0.5}, "tokens": seq, "seconds": 1.0}) + "\n"


def asked_to_stop(run: Run) -> bool:
    try:
        return bool(json.loads((run.directory / "control.json").read_text())["request"] == "stop")
    except FileNotFoundError:
        return False


def read(run: Run) -> int:
    return Run.objects.values_list("last_seq", flat=True).get(pk=run.pk)


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_stop_reaches_the_engine_before_a_backlog_is_read(run: Run, when: str) -> None:
    if when == "before":
        assert services.request_stop(run)
    epoch = lease.take(run.pk)
    assert epoch is not None
    supervisor = threading.Thread(target=supervised, args=(run.pk, epoch))
    supervisor.start()
    try:
        if when == "during":
            wait_for(lambda: read(run) > 0, what="the first rows of the backlog")
            assert services.request_stop(Run.objects.get(pk=run.pk))
        began = time.monotonic()
        wait_for(lambda: asked_to_stop(run), what="a request to stop")
        assert time.monotonic() - began < 5.0  # about one on an idle machine
        assert read(run) < BACKLOG
    finally:
        lease.seize(run.pk)  # ends the supervisor at its next write
        supervisor.join()


def test_a_worker_that_shuts_down_leaves_the_rest_of_a_backlog_to_the_next_one(run: Run) -> None:
    epoch, shutdown = lease.take(run.pk), threading.Event()
    assert epoch is not None
    supervisor = threading.Thread(target=supervised, args=(run.pk, epoch, shutdown))
    supervisor.start()
    try:
        wait_for(lambda: read(run) > 0, what="the first rows of the backlog")
        shutdown.set()
        supervisor.join(2.0)  # about 0.2 on an idle machine, and 30 for the whole backlog
        assert not supervisor.is_alive()
        assert 0 < read(run) < BACKLOG
        assert lease.take(run.pk) == epoch + 1  # at once, by whichever worker comes next
    finally:
        lease.seize(run.pk)
        supervisor.join()


def supervised(run_id: str, epoch: int, shutdown: threading.Event | None = None) -> None:
    try:
        supervise(run_id, epoch, shutdown or threading.Event())
    finally:
        connection.close()
