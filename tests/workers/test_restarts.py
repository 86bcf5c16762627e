"""Automatic restarts after a failure: with real workers and engines that are killed, and the assessment alone."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.workers.test_sightings import Clock
from tests.workers.workplace import Workplace, config, events_in_file, wait_for, wait_for_state
from webapp.projects.models import default_project
from webapp.runs import queue, services
from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers import lease, sightings, turns
from workers.endings import Ending
from workers.lease import Fenced
from workers.limits import current_limits
from workers.process import Sweep, processes_with_cookie
from workers.restarts import after_fault
from workers.supervisor import Supervisor

SOON = {"restart_pauses": [0.1]}
CRASHED = Ending(state=RunState.CRASHED, reason="It was killed.\nThe end of its log:\nBoo", retryable=True)


def starts(run: Run) -> list[tuple[int, int | None]]:
    """Each attempt, with the step that it continued from."""
    return [(e["attempt"], e["resumed_from"]) for e in events_in_file(run) if e["kind"] == "run_started"]


# --- with real processes ---


@pytest.mark.slow
def test_a_killed_engine_continues_from_its_checkpoint_and_no_step_counts_twice(workplace: Workplace) -> None:
    workplace.limits = SOON
    workplace.start_worker()
    # checkpoints at 5 and 10; killed in step 13, so that 11 and 12 are repeated and counted once
    run = wait_for_state(workplace.submit(steps=15, crash_at=13), "finished")
    assert starts(run) == [(1, None), (2, 10)]
    assert list(run.steps.order_by("step").values_list("step", "attempt")) == [
        (step, 1 if step <= 10 else 2) for step in range(1, 16)
    ]
    assert run.trajectories.count() == 15 * 6
    assert (run.restarts, run.restart_pause) == (1, None)
    (fault,) = run.faults
    assert "killed by signal 9 (SIGKILL)" in fault["reason"]
    assert (fault["attempt"], fault["step"], fault["restart"], fault["budget"]) == (1, 12, 1, 3)
    assert fault["time"] == pytest.approx(time.time(), abs=60)


@pytest.mark.slow
def test_an_engine_killed_from_outside_is_restarted_with_no_process_left_behind(workplace: Workplace) -> None:
    workplace.limits = SOON
    workplace.start_worker()
    run = workplace.submit(steps=40, step_seconds=0.1, leave_child=1)
    wait_for(lambda: run.steps.count() >= 6, what="six steps")
    run.refresh_from_db()
    os.kill(run.process["pid"], signal.SIGKILL)
    cookie = run.process["cookie"]
    run = wait_for_state(run, "finished")
    assert processes_with_cookie(cookie) == []
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 41))
    assert len(starts(run)) == 2


@pytest.mark.slow
def test_a_retryable_failure_is_restarted_and_recorded(workplace: Workplace) -> None:
    workplace.limits = SOON
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=4, fault_at=3), "finished")
    assert starts(run) == [(1, None), (2, None)]
    assert run.faults[0]["reason"] == "RetryableFault: A node is gone."


@pytest.mark.slow
def test_restarts_end_with_the_budget(workplace: Workplace) -> None:
    workplace.limits = SOON
    workplace.start_worker()
    # checkpoints at 5, 10: each attempt takes six steps and ends, five further than the last one
    run = wait_for_state(workplace.submit(steps=30, step_seconds=0.01, die_after=6, restarts=2), "crashed")
    assert starts(run) == [(1, None), (2, 5), (3, 10)]
    assert [fault["restart"] for fault in run.faults] == [1, 2, 0]
    assert "It was restarted 2 times, the limit set by checkpoint.restarts." in run.state_reason
    assert run.stop_proof["proven"]


@pytest.mark.slow
def test_a_crash_loop_ends_before_the_budget_is_spent(workplace: Workplace) -> None:
    workplace.limits = SOON
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=30, die_after=0, restarts=50), "crashed")
    assert run.attempt == 3
    assert "2 restarts in a row completed no step" in run.state_reason


@pytest.mark.slow
@pytest.mark.parametrize("misdeed", [{"fail_at": 2}, {"exit_code": 2}], ids=["reported", "exit status"])
def test_user_errors_are_not_retried(workplace: Workplace, misdeed: dict[str, int]) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=6, **misdeed), "failed")
    assert (run.attempt, run.restarts, run.faults) == (1, 0, [])


@pytest.mark.slow
def test_a_stop_during_the_restart_delay_takes_effect(workplace: Workplace) -> None:
    workplace.limits = {"restart_pauses": [4.0]}
    workplace.start_worker()
    run = workplace.submit(steps=15, crash_at=3)
    wait_for(lambda: Run.objects.get(pk=run.pk).restart_pause, what="a fault")
    run.refresh_from_db()
    assert (run.shown_as, run.wait_reason) == ("restarting", "Restarts 4 s after the failure: restart 1 of 3")
    assert services.request_stop(run)
    time.sleep(10)  # past the delay and the next poll
    run.refresh_from_db()
    assert (run.state, run.state_reason) == ("stopped", "Stopped by Starboard before it started again.")
    assert len(starts(run)) == 1


# --- the assessment alone ---


def a_run(*, restarts: int = 3, **fields: Any) -> Run:
    given = config(restarts=restarts).model_dump(mode="json")
    return Run(name="r", config=given, project_id=1, **{"state": "running", "attempt": 1, **fields})


def assessed(run: Run, *, progressed: bool, pauses: tuple[float, ...] = (5.0, 20.0)) -> tuple[Ending, dict[str, Any]]:
    """Also prepares the run for its next attempt."""
    ending, fields = after_fault(run, CRASHED, progressed=progressed, pauses=pauses)
    for name, value in fields.items():
        setattr(run, name, value)
    run.attempt += 1
    return ending, fields


def test_the_restart_delay_grows_up_to_a_limit() -> None:
    run = a_run()
    for pause in (5, 20, 20):
        ending, fields = assessed(run, progressed=True)
        assert (ending.state, ending.reason) == ("queued", "It was killed.")
        assert fields["restart_pause"] == pause
    ending, fields = assessed(run, progressed=True)
    assert ending.state == "crashed"
    assert ending.reason.startswith("It was killed. It was restarted 3 times")
    assert ending.reason.endswith("The end of its log:\nBoo")
    assert set(fields) == {"faults"}


def test_progress_resets_the_crash_loop_count_but_not_the_budget() -> None:
    run = a_run(restarts=9)
    progress = [
        False,
        False,
        True,
        False,
        False,
    ]  # the first is not a restart; the last is the second restart in a row without progress
    states = [assessed(run, progressed=one)[0].state for one in progress]
    assert states == ["queued", "queued", "queued", "queued", "crashed"]
    assert [fault["fruitless"] for fault in run.faults] == [0, 1, 0, 1, 2]
    assert run.restarts == 4


def test_a_user_s_resume_resets_the_crash_loop_count_but_not_the_budget() -> None:
    run = a_run(restarts=9)
    for _ in range(3):
        ending, _ = assessed(run, progressed=False)
    assert ending.state == "crashed"
    assert assessed(run, progressed=False)[0].state == "queued"  # the attempt that the user requested
    assert run.restarts == 3


def test_without_a_budget_nothing_is_retried_and_the_failure_is_recorded() -> None:
    run = a_run(restarts=0)
    assert assessed(run, progressed=True)[0].state == "crashed"
    assert [fault["restart"] for fault in run.faults] == [0]


def test_a_configuration_without_a_budget_has_the_default() -> None:
    run = a_run()
    del run.config["checkpoint"]["restarts"]
    assert run.restart_budget == 3


@pytest.mark.django_db
def test_a_run_keeps_its_slot_during_the_restart_delay(settings: Any) -> None:
    settings.STARBOARD_MAX_PARALLEL_RUNS = 1
    fallen = Run.objects.create(name="fallen", config={}, restart_pause=3600, wait_reason="Starts again")
    other = Run.objects.create(name="other", config={})
    assert queue.due() == []
    queue.report()
    other.refresh_from_db()
    fallen.refresh_from_db()
    assert other.wait_reason == "1st of 1 in the queue. Waits for 'fallen' to finish (1 of 1 engine slots in use)"
    assert fallen.wait_reason == "Starts again"
    Run.objects.filter(pk=other.pk).update(priority=100)
    Run.objects.filter(pk=fallen.pk).update(restart_pause=0)
    assert queue.due() == [fallen.pk]  # in its own slot, which the other one does not get
    assert turns.claim(other.pk) == (fallen.pk, 1)
    fallen.refresh_from_db()
    assert (fallen.state, fallen.restart_pause, fallen.shown_as) == ("starting", None, "starting")


@pytest.mark.django_db
def test_a_pause_is_over_once_a_worker_has_seen_it_for_its_duration(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(sightings.restarts, "clock", clock)
    run = Run.objects.create(name="fallen", config={}, restart_pause=20)
    pauses = []
    for clock.now in (1000, 1015, 1019.9, 1020):
        turns.dispatch_next()
        run.refresh_from_db()
        pauses.append(run.restart_pause)
    assert pauses == [20, 20, 20, 0]
    Run.objects.filter(pk=run.pk).update(attempt=2, restart_pause=60)  # it failed again
    for clock.now in (1030, 1050, 1070, 1089, 1090):
        turns.dispatch_next()
        run.refresh_from_db()
        pauses.append(run.restart_pause)
    assert pauses[4:] == [60, 60, 60, 60, 0]


# --- a stop at the very moment of the failure ---


def supervisor_of(run: Run, tmp_path: Path, settings: Any) -> Supervisor:
    settings.RUNS_DIR = str(tmp_path)
    epoch = lease.take(run.pk)
    assert epoch is not None
    return Supervisor(Run.objects.get(pk=run.pk), epoch, threading.Event(), current_limits())


def saved(run: Run) -> Run:
    run.project, run.process = default_project(), {"cookie": "a cookie that nobody has"}
    run.save()
    return run


@pytest.mark.django_db
def test_a_stop_between_the_failure_and_the_queue_takes_effect(tmp_path: Path, settings: Any) -> None:
    run = saved(a_run())
    supervisor = supervisor_of(run, tmp_path, settings)
    assert services.request_stop(run)  # after the supervisor has read the row
    supervisor._end(CRASHED, Sweep(killed=[], left=[]), exit_status=-9)
    run.refresh_from_db()
    assert (run.state, run.restarts, run.lease_holder) == ("stopped", 0, "")
    assert "Stopped by force" in run.state_reason


@pytest.mark.django_db
def test_a_supervisor_that_was_replaced_restarts_nothing(tmp_path: Path, settings: Any) -> None:
    run = saved(a_run())
    supervisor = supervisor_of(run, tmp_path, settings)
    lease.seize(run.pk)
    with pytest.raises(Fenced):
        supervisor._end(CRASHED, Sweep(killed=[], left=[]), exit_status=-9)
    run.refresh_from_db()
    assert (run.state, run.attempt, run.faults) == ("running", 1, [])


@pytest.mark.django_db
def test_nothing_is_started_while_a_process_cannot_be_killed(tmp_path: Path, settings: Any) -> None:
    run = saved(a_run())
    supervisor_of(run, tmp_path, settings)._end(CRASHED, Sweep(killed=[], left=[4711]), exit_status=-9)
    run.refresh_from_db()
    assert (run.state, run.attempt) == ("crashed", 1)
    assert run.stop_proof["left"] == [4711]
