"""The database goes away and comes back, or is slow: no event is lost from the rows, and nobody is fenced for it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from tests.workers.engine_record import Record
from webapp.runs.models import Run
from workers import lease
from workers.bridge import Bridge

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(tmp_path: Path, settings: Any) -> Run:
    settings.RUNS_DIR = str(tmp_path)
    return Run.objects.create(name="calm-otter-12", config={}, state="running", epoch=1)


def out_of_reach(*_: Any) -> None:
    raise OperationalError("server closed the connection unexpectedly")


def test_a_chunk_whose_transaction_was_rolled_back_is_read_again_whole(
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
