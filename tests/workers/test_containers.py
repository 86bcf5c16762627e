"""Engines end with their worker's container: with a checkpoint if a stop is requested, and never lost for good."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engine_record import Record
from tests.workers.workplace import Workplace, events_in_file, wait_for, wait_for_state
from webapp.runs import services
from webapp.runs.models import Run
from workers import lease
from workers.process import (
    Liveness,
    boot_id,
    host,
    identify,
    identity_from_row,
    is_local,
    liveness,
    processes_with_cookie,
)
from workers.stacks import STACKS
from workers.supervisor import supervise
from workers.suspension import is_interrupted, lock_of

IN_ANOTHER_CONTAINER = "0123456789ab/pid:[1]"


@pytest.fixture
def run(tmp_path: Path, settings: Any, db: None) -> Run:
    """An engine in another container of this machine, whose end its supervisor could not see."""
    settings.RUNS_DIR = str(tmp_path)
    process = {"pid": 7, "start_time": 1, "boot_id": boot_id(), "host": IN_ANOTHER_CONTAINER, "cookie": "nobody's"}
    run = Run.objects.create(name="calm-otter-12", config={}, state="lost", process=process)
    Record(run).started()
    return run


def liveness_of(run: Run) -> Liveness:
    identity = identity_from_row(run.process)
    assert identity is not None
    return liveness(identity, lock_of(run))


def test_an_engine_in_another_container_is_running_while_it_holds_its_lock(run: Run) -> None:
    assert liveness_of(run) is Liveness.UNKNOWN  # no engine holds the lock here: its directory may be a different one
    with lock_of(run).open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert liveness_of(run) is Liveness.UNKNOWN
        assert not is_interrupted(run)
    assert liveness_of(run) is Liveness.GONE
    assert is_interrupted(run)


def test_a_just_started_engine_need_not_hold_its_lock_yet(run: Run) -> None:
    lock_of(run).touch()
    just_now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    run.process |= {"start_time": just_now}
    assert liveness_of(run) is Liveness.UNKNOWN
    run.process |= {"start_time": just_now - 61 * os.sysconf("SC_CLK_TCK")}
    assert liveness_of(run) is Liveness.GONE


def test_a_restarted_container_with_the_same_name_is_a_different_one(run: Run) -> None:
    # the kernel may reuse the number of the previous pid namespace; its first process is younger
    run.process |= {"host": host(), "start_time": -1}
    assert liveness_of(run) is Liveness.GONE
    assert is_interrupted(run)
    mine = identify(os.getpid(), "cookie")
    assert mine is not None and is_local(mine)


def test_the_state_of_an_engine_on_another_machine_is_unknown(run: Run) -> None:
    lock_of(run).touch()
    run.process["boot_id"] = "of another machine"
    assert liveness_of(run) is Liveness.UNKNOWN


def test_a_run_that_lost_its_container_is_queued_as_a_new_attempt(run: Run) -> None:
    lock_of(run).touch()
    epoch = lease.take(run.pk)
    assert epoch is not None
    supervise(run.pk, epoch, threading.Event())
    run.refresh_from_db()
    assert (run.state, run.attempt, run.restarts) == ("queued", 2, 0)
    assert "Interrupted with its machine" in run.state_reason


def test_a_run_that_lost_its_container_while_stopping_is_stopped(run: Run) -> None:
    lock_of(run).touch()
    assert services.request_stop(run)
    epoch = lease.take(run.pk)
    assert epoch is not None
    supervise(run.pk, epoch, threading.Event())
    run.refresh_from_db()
    assert run.state == "stopped"


@pytest.mark.slow
def test_a_stopping_container_saves_its_runs_and_the_next_one_continues_them(workplace: Workplace) -> None:
    container = workplace.start_worker("workers.launch.in_container")
    run = workplace.submit(steps=200, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3)
    container.send_signal(STACKS)
    log = workplace.directory / "worker_0.log"
    wait_for(lambda: b"most recent call first" in log.read_bytes(), what="the stacks of the worker")
    container.terminate()
    assert container.wait(timeout=20) == 0
    run.refresh_from_db()
    assert processes_with_cookie(run.process["cookie"]) == []
    saved = max(int(path.name.removeprefix("step_")) for path in run.directory.glob("checkpoints/*"))
    assert saved >= 3
    # the next container has another pid namespace and name, and considers an engine of that age ended
    long_ago = run.process["start_time"] - 100 * os.sysconf("SC_CLK_TCK")
    gone = {**run.process, "host": IN_ANOTHER_CONTAINER, "start_time": long_ago}
    Run.objects.filter(pk=run.pk).update(process=gone)
    workplace.start_worker("workers.launch.in_container")
    run = wait_for_state(run, "finished")
    assert [e["resumed_from"] for e in events_in_file(run) if e["kind"] == "run_started"] == [None, saved]
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 201))
