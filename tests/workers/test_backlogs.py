"""A worker that takes over a run with unread events: requests reach the engine before them, and between their parts."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workers.bridged_run import run
from tests.workers.engine_record import Record
from webapp.runs.models import Run
from webapp.runs.states import Request, RunState
from workers.bridge import Bridge
from workers.limits import Limits
from workers.process import identify
from workers.supervisor import BACKLOG_SECONDS, Supervisor

__all__ = ["run"]

pytestmark = pytest.mark.django_db

# an engine that only waits for its stop
WAITING = """
import json, pathlib, sys, time
control = pathlib.Path(sys.argv[1])
while not control.exists() or json.loads(control.read_text())["request"] != "stop":
    time.sleep(0.01)
"""


@pytest.fixture
def engine(run: Run) -> Iterator[subprocess.Popen[bytes]]:
    run.directory.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([sys.executable, "-c", WAITING, str(run.directory / "control.json")])
    yield process
    process.kill()
    process.wait()


def test_a_stop_reaches_an_adopted_engine_before_its_backlog_is_read(
    run: Run, engine: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record(run)
    record.started()
    record.step(1)
    identity = identify(engine.pid, "cookie")
    assert identity is not None
    run.state, run.requested, run.process = RunState.STOPPING, Request.STOP, identity.as_row()
    run.save()
    control, requests, drain = run.directory / "control.json", [], Bridge.drain

    def noting(self: Bridge, **options: Any) -> bool:
        requests.append((json.loads(control.read_text())["request"] if control.exists() else None, self.run.last_seq))
        return drain(self, **options)

    monkeypatch.setattr(Bridge, "drain", noting)
    threading.Timer(0, engine.wait).start()  # so that it is no zombie once it has exited
    Supervisor(run, 1, threading.Event(), Limits(sweep=1.0)).supervise()
    assert requests[0] == ("stop", 0)
    run.refresh_from_db()
    assert (run.last_seq, run.state in (RunState.STOPPED, RunState.CRASHED)) == (2, True)


def test_a_backlog_is_read_in_parts_of_limited_time(run: Run) -> None:
    record = Record(run)
    record.started()
    for number in (1, 2):
        record.file(run, number)  # ends a chunk
    bridge = Bridge(run, 1)
    assert bridge.drain(seconds=0.0)
    assert 0 < run.last_seq < record.seq
    while bridge.drain(seconds=0.0):
        pass
    assert run.last_seq == record.seq
    assert Limits().requests >= BACKLOG_SECONDS
