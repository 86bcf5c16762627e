"""The database disappears and returns, or is slow: no event is lost, and no worker is fenced for it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from tests.workers.engine_record import Record
from webapp.runs.models import Run
from workers import lease
from workers.bridge import Bridge
from workers.limits import Limits
from workers.supervisor import supervise
from workers.trajectory_rows import FileRows, read_trajectory_file

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(tmp_path: Path, settings: Any) -> Run:
    settings.RUNS_DIR = str(tmp_path)
    return Run.objects.create(name="calm-otter-12", config={}, state="running", epoch=1)


def out_of_reach(*_: Any) -> None:
    raise OperationalError("server closed the connection unexpectedly")


def test_a_chunk_whose_transaction_was_rolled_back_is_read_again_completely(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record(run)
    record.started()
    record.step(1)
    bridge = Bridge(run, 1)
    bridge.drain()
    record.attempt = 2
    record.started(resumed_from=1)
    record.step(2, **{"reward/std": 0.5})
    with monkeypatch.context() as outage:
        outage.setattr("workers.bridge._move_state", out_of_reach)  # the last write of the transaction
        with pytest.raises(OperationalError):
            bridge.drain()
    assert list(run.steps.values_list("step", flat=True)) == [1]
    record.step(3)
    bridge.drain()
    run.refresh_from_db()
    assert list(run.steps.values_list("step", "attempt")) == [(1, 1), (2, 2), (3, 2)]
    assert (run.last_seq, run.event_offset) == (record.seq, record.path.stat().st_size)
    assert "reward/std" in run.metric_names.values_list("name", flat=True)


@pytest.mark.django_db(transaction=True)
def test_reading_a_file_for_longer_than_the_lease_keeps_the_lease(
    run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STARBOARD_LIMITS = {"lease": 1.0, "renew": 0.1}
    Run.objects.filter(pk=run.pk).update(process={"cookie": "a cookie that nobody has"}, requested="stop")
    record = Record(run)
    record.started()
    record.file(run, 1)
    epochs: list[int | None] = []

    def read_slowly(*given: Any) -> FileRows:
        time.sleep(1.5)
        epochs.append(lease.take(run.pk))
        return read_trajectory_file(*given)

    monkeypatch.setattr("workers.rows.read_trajectory_file", read_slowly)
    epoch = lease.take(run.pk)
    assert epoch is not None
    supervise(run.pk, epoch, threading.Event())
    run.refresh_from_db()
    assert epochs == [None]
    assert (run.trajectories.count(), run.epoch, run.state) == (2, epoch, "stopped")


def test_a_released_lease_is_not_renewed(run: Run) -> None:
    epoch = lease.take(run.pk)
    assert epoch is not None
    lease.release(run.pk, epoch)
    with pytest.raises(lease.Fenced):
        lease.renew(run.pk, epoch, Limits())
    assert lease.take(run.pk) == epoch + 1
