"""The file of events is deleted, cut or replaced under a running engine: the run's page says so, and what is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.workers.workplace import Workplace, events_in_file, wait_for, wait_for_state
from webapp.runs import services
from webapp.runs.models import Run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ENOUGH = 12  # events


def started(workplace: Workplace) -> Run:
    """With some events in rows, and many to come."""
    run = workplace.submit(steps=40, step_seconds=0.05)
    workplace.start_worker()
    wait_for(lambda: read(run) >= ENOUGH, what="events in rows")
    return run


def read(run: Run) -> int:
    run.refresh_from_db()
    return run.last_seq


def kinds(run: Run) -> set[str]:
    return set(run.record_problems.values_list("kind", flat=True))


def halve(path: Path) -> bytes:
    lines = path.read_bytes().splitlines(keepends=True)
    return b"".join(lines[: ENOUGH // 2])


def test_a_file_deleted_under_its_engine_is_noticed_at_once_and_its_lost_events_at_the_end(
    workplace: Workplace,
) -> None:
    run = started(workplace)
    (run.directory / "events.jsonl").unlink()
    wait_for(lambda: "gone" in kinds(run), what="a problem of the record")
    before = read(run)
    wait_for_state(run, "finished")  # by a restart from its newest checkpoint, as nothing says that the engine finished
    assert "behind" in kinds(run)
    behind = run.record_problems.get(kind="behind").reason
    assert f"the file has {before}" in behind
    assert run.attempt == 2


def test_a_run_that_is_stopped_and_resumed_as_its_page_says_after_its_file_was_deleted_goes_on_in_the_rows(
    workplace: Workplace,
) -> None:
    run = started(workplace)
    (run.directory / "events.jsonl").unlink()
    wait_for(lambda: "gone" in kinds(run), what="a problem of the record")
    assert services.request_stop(run)
    wait_for_state(run, "stopped")
    lost = run.last_seq
    assert services.resume_ended(run)
    wait_for_state(run, "finished")
    assert (run.step, run.steps.filter(attempt=2).count() > 0) == (40, True)
    seqs = [event["seq"] for event in events_in_file(run)]
    assert seqs == list(range(lost + 1, lost + 1 + len(seqs)))  # no number of an event in the rows is given again
    assert "conflict" not in kinds(run)


def test_a_file_cut_under_its_engine_is_noticed_and_the_run_goes_on(workplace: Workplace) -> None:
    run = started(workplace)
    path = run.directory / "events.jsonl"
    os.truncate(path, len(halve(path)))
    wait_for_state(run, "finished")
    assert "replaced" in kinds(run) <= {"replaced", "gap"}  # a gap if an event was cut off before it was read
    assert f"Events {ENOUGH // 2 + 1} to " in run.record_problems.get(kind="replaced").reason
    assert run.step == 40


def test_a_file_replaced_while_no_worker_runs_is_noticed_by_the_next_one(workplace: Workplace) -> None:
    run = started(workplace)
    workplace.kill_worker(workplace.workers[0])
    path = run.directory / "events.jsonl"
    other = path.with_name("other")
    other.write_bytes(halve(path))
    other.replace(path)
    workplace.start_worker()
    wait_for(lambda: "replaced" in kinds(run), what="a problem of the record")
    wait_for(lambda: "behind" in kinds(run), what="the events that the engine wrote elsewhere")
