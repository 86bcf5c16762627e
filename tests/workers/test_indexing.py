"""Imported runs are indexed by one worker at a time, which blocks nobody's writes and is replaced if it is killed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from engine.foreign.run_directory import Source
from tests.engine.foreign.test_rollouts import verl
from webapp.launching import importing
from webapp.runs.indexing import UNINDEXED
from webapp.runs.models import Run
from workers import lease, tasks
from workers.indexing import index
from workers.trajectory_rows import FileRows, read_trajectory_file

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Three steps of two trajectories each, not indexed yet."""
    settings.RUNS_DIR = str(tmp_path)
    monkeypatch.setattr(importing, "enqueue_index", lambda run_id: True)
    lines = [verl(step=step, score=score) for step in (1, 2, 3) for score in (0, 1)]
    run, _ = importing.import_run([Source(name="dump.jsonl", lines=lines)], origin="dump.jsonl")
    assert run is not None
    return run


def in_a_thread(work: Any) -> None:
    """As another worker would, with its own connection."""

    def do() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=do)
    thread.start()
    thread.join()


def while_a_file_is_read(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    def read(*given: Any) -> FileRows:
        act()
        return read_trajectory_file(*given)

    monkeypatch.setattr("workers.rows.read_trajectory_file", read)


def test_a_second_worker_skips_a_run_that_is_being_indexed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other: list[bool] = []
    while_a_file_is_read(monkeypatch, lambda: in_a_thread(lambda: other.append(index(run.pk))))
    assert index(run.pk)
    assert other == [False] * 3
    run.refresh_from_db()
    assert (run.trajectories.count(), run.epoch, run.lease_holder, run.state) == (6, 1, "", "finished")
    assert not index(run.pk)


def test_a_worker_that_shuts_down_leaves_the_rest_of_a_run_to_the_next_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutdown = threading.Event()
    while_a_file_is_read(monkeypatch, shutdown.set)
    index(run.pk, shutdown)
    run.refresh_from_db()
    assert run.trajectories.count() == 2  # of the first of three files, each with two
    assert Run.objects.filter(UNINDEXED, pk=run.pk).exists()
    monkeypatch.setattr(lease, "holder_is_dead", lambda holder: True)  # as it is soon
    assert index(run.pk)
    assert (run.trajectories.count(), Run.objects.filter(UNINDEXED).count()) == (6, 0)


def test_other_processes_read_and_write_during_indexing(
    run: Run, monkeypatch: pytest.MonkeyPatch, django_user_model: Any
) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_user("ada"))
    seen: list[int] = []
    pages: list[str] = []

    def read() -> None:
        Run.objects.filter(pk=run.pk).update(name=f"seen {len(seen)}")
        seen.append(run.trajectories.count())
        pages.append(client.get(f"/runs/{run.pk}/").content.decode())

    while_a_file_is_read(monkeypatch, lambda: in_a_thread(read))
    assert index(run.pk)
    assert seen == [0, 2, 4]
    assert all("<h2>Indexing</h2>" in page for page in pages)
    assert "Being read in" not in client.get(f"/runs/{run.pk}/").content.decode()


def test_the_next_worker_finishes_the_indexing_of_a_killed_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[int] = []

    def fail_at_the_third() -> None:
        files.append(1)
        if len(files) == 3:
            raise KeyboardInterrupt

    while_a_file_is_read(monkeypatch, fail_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        index(run.pk)
    assert lease.unheld_runs(UNINDEXED) == []  # until its lease expires, or its process is found to have ended
    Run.objects.filter(pk=run.pk).update(lease_holder=f"{lease.this_holder().split(' ')[0]} {2**22} 5 1")
    assert lease.unheld_runs(UNINDEXED) == [run.pk]
    assert index(run.pk)
    assert run.trajectories.count() == 6


def test_the_beat_schedules_a_worker_and_reads_nothing_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks, "enqueue_index", sent.append)
    tasks.adopt_unsupervised_runs()
    assert sent == [run.pk]
    assert not run.trajectories.exists()
    index(run.pk)
    tasks.adopt_unsupervised_runs()
    assert sent == [run.pk]
