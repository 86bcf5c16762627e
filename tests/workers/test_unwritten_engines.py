"""A worker is killed after it started an engine and before it wrote the engine's process into the row."""

from __future__ import annotations

import threading

import pytest

from tests.workers.workplace import Workplace, events_in_file, wait_for, wait_for_state
from webapp.runs import services
from webapp.runs.models import Run
from workers import lease, turns
from workers.limits import current_limits
from workers.process import processes_with_cookie
from workers.supervisor import Supervisor

pytestmark = pytest.mark.slow


def test_an_engine_that_no_row_knows_is_adopted_and_no_second_one_is_started(workplace: Workplace) -> None:
    run = workplace.submit(steps=1000, step_seconds=0.1)
    claimed = turns.claim(run.pk)
    assert claimed is not None
    run.refresh_from_db()
    cookie = run.process["cookie"]
    engine = Supervisor(run, claimed[1], threading.Event(), current_limits())._start()
    assert engine is not None
    Run.objects.filter(pk=run.pk).update(process={"cookie": cookie})  # as if it was killed before it wrote more
    lease.release(run.pk, claimed[1])
    wait_for(lambda: processes_with_cookie(cookie), what="an engine")
    workplace.start_worker()
    wait_for_state(run, "running")
    assert services.request_stop(run)
    wait_for_state(run, "stopped")
    assert (run.process["pid"], run.attempt) == (engine.identity.pid, 1)
    assert [event["kind"] for event in events_in_file(run)].count("run_started") == 1
