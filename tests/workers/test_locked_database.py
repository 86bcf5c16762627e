"""Another program holds SQLite's write lock for longer than anybody waits for it."""

from __future__ import annotations

import sqlite3
import time

import pytest
from django.conf import settings
from django.db import connection

from tests.workers.test_frozen_workers import is_whole
from tests.workers.workplace import Workplace, events_in_file, seqs_in_rows, takes_writes, wait_for, wait_for_state

pytestmark = [pytest.mark.slow]


def test_a_run_goes_on_while_sqlite_is_locked_and_its_rows_follow(workplace: Workplace) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    workplace.start_worker()
    run = workplace.submit(steps=250, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3, what="three steps in rows")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    written, stored = len(events_in_file(run)), len(seqs_in_rows(run))
    time.sleep(settings.DATABASES["default"]["OPTIONS"]["timeout"] + 2)
    assert not takes_writes()
    assert len(events_in_file(run)) > written and len(seqs_in_rows(run)) <= stored + 1
    other.execute("COMMIT")
    other.close()
    run = wait_for_state(run, "finished", seconds=60)
    is_whole(run)
    assert (run.attempt, run.epoch) == (1, 1)  # nobody took it for lost
