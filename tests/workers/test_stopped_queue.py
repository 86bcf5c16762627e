"""Runs that are stopped while they are queued never have an engine; each of the others has one."""

from __future__ import annotations

import pytest

from tests.workers.workplace import Workplace, events_in_file, wait_for
from webapp.runs import services
from webapp.runs.models import Run

pytestmark = pytest.mark.slow


def test_of_twenty_queued_runs_ten_are_stopped_and_only_the_others_start_once_each(workplace: Workplace) -> None:
    workplace.slots = 4
    runs = [workplace.submit(steps=2, step_seconds=0.2, name=f"run-{number}") for number in range(20)]
    stopped, kept = runs[::2], runs[1::2]
    for run in stopped[:5]:  # before there is a worker
        assert services.request_stop(run)
    workplace.start_worker()
    for run in reversed(stopped[5:]):  # while it starts the others
        assert services.request_stop(run)
    wait_for(lambda: not Run.objects.exclude(state__in=("finished", "stopped")).exists(), what="an empty queue")
    for run in stopped:
        run.refresh_from_db()
        assert (run.state, run.events.count()) == ("stopped", 0)
        assert run.state_reason == "Stopped by Starboard before it started."
        assert not (run.directory / "events.jsonl").exists()
    for run in kept:
        run.refresh_from_db()
        assert (run.state, run.attempt) == ("finished", 1)
        assert [event["kind"] for event in events_in_file(run)].count("run_started") == 1
