"""A worker that freezes within a write: what its database does, who takes over, and what it does when it thaws."""

from __future__ import annotations

import signal
import time

import pytest
from django.db import connection

from tests.warm_python import Process
from tests.workers.workplace import (
    Workplace,
    events_in_file,
    is_suspended,
    seqs_in_rows,
    takes_writes,
    wait_for,
    wait_for_state,
)  # fmt: skip
from webapp.runs.models import Run
from workers.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

FREEZING = "tests.workers.freezing_worker"


def frozen_within_a_write(workplace: Workplace) -> tuple[Run, Process]:
    """A run with an engine that goes on, and its worker, which holds the run's row locked."""
    worker = workplace.start_worker(FREEZING)
    run = workplace.submit(steps=250, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3, what="three steps in rows")
    (workplace.directory / "freeze").touch()
    wait_for(lambda: is_suspended(worker), what="a worker that is suspended")
    assert not takes_writes()
    return run, worker


def is_whole(run: Run) -> None:
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 251))
    assert [event["kind"] for event in events_in_file(run)].count("run_started") == 1


def test_postgresql_rolls_back_a_frozen_write_and_another_worker_takes_over_within_the_lease(
    workplace: Workplace,
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("python -m tests.on_postgres runs it on PostgreSQL")
    workplace.limits = {"lease": 5.0, "renew": 1.0}
    run, frozen = frozen_within_a_write(workplace)
    since = time.monotonic()
    workplace.start_worker()
    wait_for(lambda: Run.objects.get(pk=run.pk).epoch == 2, what="another supervisor")
    assert time.monotonic() - since < Limits().lease
    frozen.send_signal(signal.SIGCONT)
    log = workplace.directory / "worker_0.log"
    wait_for(lambda: b"was taken over; epoch 1 no longer writes" in log.read_bytes(), what="a worker that leaves")
    run = wait_for_state(run, "finished", seconds=60)
    assert run.epoch == 2
    is_whole(run)


def test_on_sqlite_nothing_is_written_until_the_frozen_worker_is_ended(workplace: Workplace) -> None:
    """Which the launcher does after 30 seconds. No other process can take SQLite's lock away."""
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    workplace.limits = {"lease": 2.0, "renew": 0.5}
    run, frozen = frozen_within_a_write(workplace)
    workplace.start_worker()
    written, stored = len(events_in_file(run)), len(seqs_in_rows(run))
    time.sleep(6)
    assert not takes_writes()
    assert Run.objects.get(pk=run.pk).epoch == 1 and len(seqs_in_rows(run)) == stored
    assert len(events_in_file(run)) > written  # the engine needs no database
    workplace.kill_worker(frozen)
    wait_for(lambda: Run.objects.get(pk=run.pk).epoch == 2, what="another supervisor")
    is_whole(wait_for_state(run, "finished", seconds=60))


def test_on_sqlite_no_event_is_lost_or_doubled_when_the_frozen_worker_thaws(
    workplace: Workplace,
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    workplace.limits = {"lease": 2.0, "renew": 0.5}
    run, frozen = frozen_within_a_write(workplace)
    workplace.start_worker()
    time.sleep(4)
    frozen.send_signal(signal.SIGCONT)
    is_whole(wait_for_state(run, "finished", seconds=60))
