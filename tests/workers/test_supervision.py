"""A run from queue to end under a real worker process, and what survives when processes are killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.workers.workplace import Workplace, config, events_in_file, seqs_in_rows, wait_for, wait_for_state
from webapp.audit.models import AuditEntry
from webapp.runs import queue, services
from webapp.runs.models import Run
from webapp.runs.priorities import NUMBERS
from workers.process import processes_with_cookie

pytestmark = pytest.mark.slow

PREEMPTED = "Pre-empted by 'urgent', which has high priority. It continues from its newest checkpoint."


def test_a_queued_run_is_started_and_finished_with_every_event_stored(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=4), "finished")
    assert run.state_reason == "All 4 steps were made."
    assert (run.step, run.total_steps, run.tokens) == (4, 4, 400)
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]
    assert run.trajectories.count() == 4 * 6
    assert run.evaluations.get().final
    assert run.stop_proof["proven"] and run.stop_proof["how"] == "by itself"
    assert run.finished_at is not None and run.finished_at.timestamp() == pytest.approx(events_in_file(run)[-1]["time"])
    assert run.lease_holder == ""


def test_the_stop_report_includes_the_cluster_s_answer(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=2, on_cluster=1), "finished")
    assert run.stop_proof["proven"] and run.stop_proof["cluster"] == "The cluster shows nothing of the run."


def test_kill_9_of_the_worker_leaves_the_engine_running_and_the_next_worker_adopts_it(workplace: Workplace) -> None:
    workplace.limits = {"lease": 2.0, "renew": 0.5}
    first = workplace.start_worker()
    run = workplace.submit(steps=60, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 5, what="five steps in rows")
    run.refresh_from_db()
    engine, epoch = run.process["pid"], run.epoch
    assert run.live_state()["unheld"] is False
    workplace.kill_worker(first)
    written = len(events_in_file(run))
    wait_for(lambda: len(events_in_file(run)) > written + 5, what="an engine that goes on alone")
    wait_for(lambda: Run.objects.get(pk=run.pk).live_state()["unheld"], seconds=3, what="a lease that has expired")
    workplace.start_worker()
    wait_for(lambda: not Run.objects.get(pk=run.pk).live_state()["unheld"], what="a run that is followed again")
    run = wait_for_state(run, "finished")
    assert run.process["pid"] == engine
    assert run.epoch == epoch + 1
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 61))
    assert run.stop_proof["exit"] == "exited with code 0"  # which its keeper reports


def test_sigterm_ends_the_worker_long_before_its_run_which_continues(workplace: Workplace) -> None:
    worker = workplace.start_worker()
    run = workplace.submit(steps=150, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 2)
    worker.terminate()
    worker.wait(timeout=10)  # a second on an idle machine
    run.refresh_from_db()
    assert run.state == "running" and run.lease_holder == "" and run.lease_expires is None
    workplace.start_worker()
    wait_for_state(run, "finished")
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]


def test_a_run_of_higher_priority_takes_the_slot_and_the_other_one_continues_from_its_checkpoint(
    workplace: Workplace,
) -> None:
    workplace.preemption = True
    workplace.start_worker()
    run = workplace.submit(steps=60, step_seconds=0.1, name="patient")
    wait_for(lambda: run.steps.count() >= 3, what="three steps in rows")
    urgent = services.submit_run(owner=None, config=config(steps=2), name="urgent", priority=NUMBERS["high"])
    wait_for_state(urgent, "finished")
    run.refresh_from_db()
    assert (run.attempt, run.restarts, run.preempted) == (2, 0, "")
    assert run.state_reason in ("", PREEMPTED) and run.steps.count() >= 3
    why = AuditEntry.objects.get(run=run, action="preempt").detail["reason"]
    assert why == "Pre-empted by 'urgent', which has high priority."
    run = wait_for_state(run, "finished")
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 61))


def test_flushing_redis_loses_no_queued_run(workplace: Workplace) -> None:
    runs = [workplace.submit(steps=1, step_seconds=0.01) for _ in range(5)]
    workplace.flush_redis()
    workplace.start_worker()
    for run in runs:
        wait_for_state(run, "finished")
        assert [e["kind"] for e in events_in_file(run)].count("run_started") == 1


def test_queued_runs_show_what_they_wait_for_and_start_in_their_new_order(workplace: Workplace) -> None:
    worker = workplace.start_worker()
    first = workplace.submit(name="calm-otter-12", steps=2000, step_seconds=0.1)
    wait_for_state(first, "running")
    second, third = workplace.submit(steps=1), workplace.submit(steps=1)

    def reasons() -> list[str]:
        return [Run.objects.get(pk=run.pk).wait_reason for run in (second, third)]

    def are(words: str) -> Callable[[], bool]:
        expected = [f"{position} of 2 in the queue. Waits for 'calm-otter-12'{words}" for position in ("1st", "2nd")]
        return lambda: reasons() == expected

    wait_for(are(" to finish (1 of 1 engine slots in use)"), what=f"positions, not {reasons()}")
    services.request_pause(first)
    paused = ", which is paused and holds the slot: resume or stop it"
    wait_for(are(paused), what=f"a paused run, not {reasons()}")
    assert queue.reorder(third, None, "up")
    workplace.kill_worker(worker)
    workplace.flush_redis()  # the order is in the rows, not in the broker
    workplace.start_worker()
    services.request_stop(first)
    wait_for_state(first, "stopped")
    assert wait_for_state(second, "finished").wait_reason == ""
    began = [wait_for_state(run, "finished").started_at for run in (third, second)]
    assert None not in began
    assert began == sorted(began, key=str)
    for run in (second, third):
        assert [event["kind"] for event in events_in_file(run)].count("run_started") == 1


def test_a_stop_also_ends_a_double_forked_child_in_its_own_session_and_reports_it(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, leave_child=1), "running")
    cookie = run.process["cookie"]
    wait_for(lambda: len(processes_with_cookie(cookie)) == 2, what="an engine and its orphan")
    orphan = next(p.pid for p in processes_with_cookie(cookie) if p.pid != run.process["pid"])
    assert services.request_stop(run)
    assert run.state == "stopping"
    run = wait_for_state(run, "stopped")
    assert processes_with_cookie(cookie) == []
    assert run.stop_proof["swept"] == [orphan]
    assert run.stop_proof["proven"]


def test_an_engine_that_ignores_a_stop_is_terminated_at_the_second_request(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, ignore_stop=1), "running")
    services.request_stop(run)
    time.sleep(1.5)
    run.refresh_from_db()
    assert run.state == "stopping"
    services.request_stop(run)
    run = wait_for_state(run, "stopped")
    assert run.stop_proof["how"] == "terminated"
    assert "exited with code 3" in run.state_reason


def test_an_engine_that_also_ignores_sigterm_is_killed_at_the_third_request(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1000, ignore_stop=1, ignore_term=1), "running")
    for _ in range(3):
        services.request_stop(run)
    run = wait_for_state(run, "stopped")
    assert run.stop_proof["how"] == "killed"


def test_pause_checkpoint_and_resume_reach_the_engine(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=100, step_seconds=0.05), "running")
    assert services.request_pause(run)
    run = wait_for_state(run, "paused")
    step = run.step
    assert services.request_checkpoint(run)
    wait_for(lambda: run.checkpoints.filter(reason="request").exists(), what="the requested checkpoint")
    assert services.request_resume(run)
    run = wait_for_state(run, "running")
    wait_for(lambda: Run.objects.get(pk=run.pk).step > step, what="a step after the pause")


def test_an_engine_killed_by_signal_9_is_crashed_and_resumes_without_a_duplicate_step(workplace: Workplace) -> None:
    workplace.start_worker()
    # checkpoints at 5 and 10; killed in step 13, so that 11 and 12 are repeated and counted once
    run = wait_for_state(workplace.submit(steps=15, crash_at=13, restarts=0), "crashed")
    assert "killed by signal 9 (SIGKILL)" in run.state_reason and "memory" in run.state_reason
    assert run.step == 12
    assert services.request_resume(run)
    assert run.attempt == 2
    run = wait_for_state(run, "finished")
    assert list(run.steps.order_by("step").values_list("step", "attempt")) == [
        (step, 1 if step <= 10 else 2) for step in range(1, 16)
    ]
    assert run.trajectories.count() == 15 * 6
    seqs = [event["seq"] for event in events_in_file(run)]
    assert seqs == list(range(1, len(seqs) + 1))


def test_an_incomplete_last_line_is_ignored_and_does_not_corrupt_the_next_attempt(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=6, torn_at=4, restarts=0), "crashed")
    assert (run.directory / "events.jsonl").read_bytes().endswith(b'"step_com')
    assert run.step == 3
    services.resume_ended(run)
    run = wait_for_state(run, "finished")
    assert run.step == 6
    started = [event for event in events_in_file(run) if event["kind"] == "run_started"]
    assert [event["attempt"] for event in started] == [1, 2]


def test_a_full_shutdown_suspends_the_run_and_the_next_worker_continues_it(workplace: Workplace) -> None:
    worker = workplace.start_worker()
    run = workplace.submit(steps=60, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3)
    worker.terminate()
    worker.wait(timeout=10)
    call_command("suspend_runs", seconds=5.0)
    run.refresh_from_db()
    assert processes_with_cookie(run.process["cookie"]) == []
    checkpoint = max(int(path.name.removeprefix("step_")) for path in run.directory.glob("checkpoints/*"))
    assert checkpoint >= 3
    workplace.start_worker()
    run = wait_for_state(run, "finished")
    assert run.attempt == 2
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 61))
    resumed = [event["resumed_from"] for event in events_in_file(run) if event["kind"] == "run_started"]
    assert resumed == [None, checkpoint]


def test_an_engine_terminated_from_outside_is_queued_again_and_continues(workplace: Workplace) -> None:
    workplace.start_worker()
    run = workplace.submit(steps=40, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3)
    run.refresh_from_db()
    os.kill(run.process["pid"], signal.SIGTERM)
    run = wait_for_state(run, "finished")
    assert run.attempt == 2
    assert list(run.steps.values_list("step", flat=True)) == list(range(1, 41))


def test_a_failure_reported_by_the_engine_is_shown(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=6, fail_at=2), "failed")
    assert (run.state_reason, run.state_remedy) == ("EnvironmentFault: It raised.", "Fix it.")


@pytest.mark.parametrize(("code", "state"), [(2, "failed"), (3, "crashed")])
def test_an_engine_that_exits_without_a_report_is_explained_by_its_log(
    workplace: Workplace, code: int, state: str
) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=6, exit_code=code, restarts=0), state)
    assert "stand-in: no model at /nowhere" in run.state_reason
    if state == "crashed":
        assert "exited with code 3" in run.state_reason


def test_a_run_directory_that_cannot_be_written_fails_the_run_with_a_remedy(workplace: Workplace) -> None:
    (workplace.directory / "runs").write_text("a file where the folder should be")
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=1), "failed")
    assert "cannot be used: Not a directory" in run.state_reason
    assert "writable" in run.state_remedy


def test_a_stored_configuration_that_is_now_invalid_fails_the_run_and_names_the_field(workplace: Workplace) -> None:
    run = workplace.submit(steps=1)
    Run.objects.filter(pk=run.pk).update(config={**run.config, "stepz": 3})
    workplace.start_worker()
    run = wait_for_state(run, "failed")
    assert "stepz: unknown field" in run.state_reason


def test_a_suspended_engine_is_stalled_not_crashed_and_recovers_with_a_heartbeat(workplace: Workplace) -> None:
    workplace.limits = {"silent": 2.0, "assess": 0.5}
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=400, step_seconds=0.05), "running")
    os.kill(run.process["pid"], signal.SIGSTOP)
    run = wait_for_state(run, "stalled")
    assert "suspended" in run.state_reason
    os.kill(run.process["pid"], signal.SIGCONT)
    run = wait_for_state(run, "running")
    assert run.attempt == 1


def test_an_engine_with_heartbeats_but_no_progress_is_stalled(workplace: Workplace) -> None:
    workplace.limits = {"stalled": 2.0, "assess": 0.5}
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=10, hang_at=3), "stalled")
    assert "sends heartbeats but has made no progress" in run.state_reason


def test_a_suspended_worker_that_resumes_is_fenced_off(workplace: Workplace) -> None:
    workplace.limits = {"lease": 2.0, "renew": 0.5}
    first = workplace.start_worker()
    run = workplace.submit(steps=120, step_seconds=0.1)
    wait_for(lambda: run.steps.count() >= 3)
    workplace.suspend_worker(first)
    workplace.start_worker()
    wait_for(lambda: Run.objects.get(pk=run.pk).epoch == 2, what="another supervisor")
    first.send_signal(signal.SIGCONT)
    log = Path(workplace.directory / "worker_0.log")
    wait_for(
        lambda: b"was taken over; epoch 1 no longer writes" in log.read_bytes(),
        what="the end of the fenced supervisor",
    )
    run = wait_for_state(run, "finished")
    assert run.epoch == 2
    assert seqs_in_rows(run) == [event["seq"] for event in events_in_file(run)]
    assert [e["kind"] for e in events_in_file(run)].count("run_started") == 1


def test_the_engine_receives_none_of_our_secrets(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "very secret")
    monkeypatch.setenv("STARBOARD_OIDC_ISSUER", "https://login.example.org")
    monkeypatch.setenv("STARBOARD_OIDC_CLIENT_ID", "starboard")
    monkeypatch.setenv("STARBOARD_OIDC_CLIENT_SECRET", "very secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very secret")
    monkeypatch.setenv("VLLM_ALLOW_INSECURE_SERIALIZATION", "1")
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=200), "running")
    environment = Path(f"/proc/{run.process['pid']}/environ").read_bytes()
    assert b"very secret" not in environment
    assert b"VLLM_ALLOW_INSECURE_SERIALIZATION" not in environment
    assert f"STARBOARD_RUN={run.process['cookie']}".encode() in environment


def test_an_engine_has_a_lower_priority_than_pages_and_workers(workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=200), "running")
    assert os.getpriority(os.PRIO_PROCESS, run.process["pid"]) > os.getpriority(os.PRIO_PROCESS, os.getpid())
