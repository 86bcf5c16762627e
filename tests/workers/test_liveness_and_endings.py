"""What supervision concludes from evidence: liveness by identity, conditions, endings, and scheduling."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from engine.events import RunFailed, RunFinished
from webapp.runs import services
from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers import lease, tail, turns
from workers.app import app, broker_url
from workers.condition import AssessmentTimer, Condition, Evidence, assess, progress_limit
from workers.endings import ending_of
from workers.limits import Limits
from workers.process import Identity, Liveness, identify, liveness, send_signal
from workers.supervisor import supervise
from workers.tail import log_tail, read_chunk, truncate_partial_line

LIMITS = Limits()


def own_identity() -> Identity:
    identity = identify(os.getpid(), "cookie")
    assert identity is not None
    return identity


# --- identity ---


def test_a_process_is_alive_only_under_its_own_identity() -> None:
    me = own_identity()
    assert liveness(me) is Liveness.ALIVE
    # the pid now belongs to another process
    assert liveness(dataclasses.replace(me, start_time=me.start_time - 1)) is Liveness.GONE
    assert liveness(dataclasses.replace(me, boot_id="an earlier boot")) is Liveness.GONE
    assert liveness(dataclasses.replace(me, host="another/pid:[1]")) is Liveness.UNKNOWN


def test_a_process_that_reuses_a_pid_is_never_signalled() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        old = identify(child.pid, "cookie")
        assert old is not None
        assert not send_signal(dataclasses.replace(old, start_time=old.start_time - 1), signal.SIGKILL)
        assert child.poll() is None
        assert send_signal(old, signal.SIGKILL)
        assert child.wait(5) == -signal.SIGKILL
        assert not send_signal(old, signal.SIGKILL)
    finally:
        child.kill()


def test_a_zombie_counts_as_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identify(child.pid, "cookie")
    assert identity is not None and child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, but was not reaped
    assert liveness(identity) is Liveness.GONE
    child.wait()


# --- conditions ---


@pytest.mark.parametrize(
    ("alive", "beat_age", "progress_age", "state", "condition"),
    [
        (Liveness.ALIVE, 5, 5, "running", Condition.HEALTHY),
        (Liveness.ALIVE, 25, 25, "running", Condition.HEALTHY),  # five missed heartbeats change nothing
        (Liveness.ALIVE, 5, 301, "running", Condition.STALLED),
        (Liveness.ALIVE, 5, 10_000, "paused", Condition.HEALTHY),
        (Liveness.ALIVE, 61, 61, "running", Condition.STALLED),
        (Liveness.ALIVE, 100_000, 100_000, "running", Condition.STALLED),  # silence alone is never taken for an end
        (Liveness.UNKNOWN, 5, 5, "running", Condition.HEALTHY),
        (Liveness.UNKNOWN, 61, 61, "running", Condition.LOST),
        (Liveness.GONE, 1, 1, "running", Condition.ENDED),
    ],
)
def test_the_condition_of_an_engine_follows_its_process_heartbeat_and_progress(
    alive: Liveness, beat_age: float, progress_age: float, state: str, condition: Condition
) -> None:
    evidence = Evidence(
        liveness=alive, beat_age=beat_age, progress_age=progress_age, state=state, progress_limit=LIMITS.stalled
    )
    assert assess(evidence, LIMITS).condition is condition


@pytest.mark.parametrize(("progress", "condition"), [(14.0, Condition.HEALTHY), (16.0, Condition.STALLED)])
def test_an_engine_whose_disk_is_full_is_stalled_as_soon_as_it_makes_no_progress(
    progress: float, condition: Condition
) -> None:
    evidence = Evidence(
        liveness=Liveness.ALIVE,
        beat_age=1.0,
        progress_age=progress,
        state=RunState.RUNNING,
        progress_limit=300.0,
        disk_full=True,
    )
    found = assess(evidence, Limits())
    assert found.condition is condition
    assert (condition is Condition.STALLED) == ("Free space on that disk" in found.remedy)


@pytest.mark.django_db
def test_the_progress_limit_is_ten_median_steps_and_at_least_five_minutes() -> None:
    run = Run.objects.create(name="r", config={}, state="running")
    assert progress_limit(run, LIMITS) == 300
    for step, seconds in enumerate((10.0, 40.0, 4000.0), 1):
        run.steps.create(seq=step, step=step, time=0, tokens=0, seconds=0, metrics={"time/step": seconds})
    assert progress_limit(run, LIMITS) == 400  # 10 x the median of 10, 40 and 4000
    run.state = RunState.STARTING
    assert progress_limit(run, LIMITS) == LIMITS.starting


def test_a_supervisor_that_was_suspended_skips_two_assessments(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("workers.condition.time.monotonic", lambda: now[0])
    timer = AssessmentTimer(period=5)

    def at(seconds: float) -> bool:
        now[0] = seconds
        return timer.is_due()

    assert [at(3), at(5), at(7), at(10)] == [False, True, False, True]
    assert [at(600), at(605), at(610)] == [False, False, True]  # suspended from 10 to 600


# --- endings ---


LastEvent = RunFinished | RunFailed | None
QUIET: dict[str, Any] = {"begun": True, "stop_requested": False, "interrupted": False, "log": ""}


def retryable(last: LastEvent, status: int | None, **options: Any) -> bool:
    return ending_of(last, status, **{**QUIET, **options}).retryable


def ending(last: LastEvent, status: int | None, **options: Any) -> tuple[str, str]:
    found = ending_of(last, status, **{**QUIET, **options})
    return found.state, found.reason


def test_a_reported_ending_is_accepted() -> None:
    finished = RunFinished(step=9, outcome="completed", reason="All steps were made.")
    assert ending(finished, 0) == ("finished", "All steps were made.")
    assert ending(finished.model_copy(update={"outcome": "stopped"}), 0)[0] == "stopped"
    assert ending(finished.model_copy(update={"outcome": "collapsed"}), 0)[0] == "finished"
    assert ending(finished, -11)[0] == "finished"  # a crash after the final report loses nothing
    failed = RunFailed(step=9, error="ModelError", message="No model at x.")
    assert ending(failed, 1) == ("failed", "ModelError: No model at x.")


def test_an_ending_without_a_report_is_classified_by_its_exit_status() -> None:
    assert ending(None, -9, killer="Somebody else did.") == (
        "crashed",
        "The engine ended without reporting why: it was killed by signal 9 (SIGKILL). Somebody else did.",
    )
    assert "signal 11 (SIGSEGV)" in ending(None, -11)[1]
    assert ending(None, 0)[0] == "crashed"
    assert (
        "exited with code 1" in ending(None, 1, log="Traceback")[1]
        and "Traceback" in ending(None, 1, log="Traceback")[1]
    )
    assert ending(None, 2)[0] == "failed"
    assert "unknown exit status" in ending(None, None)[1]
    assert ending(None, -9, stop_requested=True)[0] == "stopped"


def test_an_ending_caused_by_the_machine_is_queued_again_unless_a_stop_was_requested() -> None:
    assert ending(None, None, interrupted=True)[0] == "queued"
    assert ending(None, 3, interrupted=True, stop_requested=True)[0] == "stopped"
    assert ending(RunFinished(step=9, outcome="completed", reason=""), 0, interrupted=True)[0] == "finished"


def test_a_run_that_starboard_asked_to_end_says_why() -> None:
    assert ending(None, 3, interrupted=True, preempted="Pre-empted by 'x'.") == (
        "queued", "Pre-empted by 'x'. It continues from its newest checkpoint.",
    )  # fmt: skip
    stopped = RunFinished(step=9, outcome="stopped", reason="Stopped on request.")
    assert ending(stopped, 0, stop_requested=True, pruned="Below the median.") == ("stopped", "Below the median.")
    completed = stopped.model_copy(update={"outcome": "completed"})
    assert ending(completed, 0, stop_requested=True, pruned="Below the median.")[0] == "finished"


def test_an_ending_is_retryable_if_reported_so_or_killed_or_exited_without_a_report_after_starting() -> None:
    failed = RunFailed(step=9, error="ConfigError", message="No.")
    assert not retryable(failed, 1)
    assert retryable(failed.model_copy(update={"retryable": True}), 1)
    assert not retryable(RunFinished(step=9, outcome="completed", reason=""), -9)
    for killed in (-9, -11, None, 3):
        assert retryable(None, killed, begun=False)
    assert retryable(None, 1) and retryable(None, 0)
    assert not retryable(None, 1, begun=False)  # a module that could not be imported fails again
    assert not retryable(None, 2) and not retryable(None, 2, begun=False)
    assert not retryable(None, -9, stop_requested=True)


def test_a_failure_caused_by_shutdown_uses_no_restart() -> None:
    failed = RunFailed(step=9, error="RetryableFault", message="A node is gone.", retryable=True)
    assert ending(failed, 1, interrupted=True)[0] == "queued"
    assert not retryable(failed, 1, interrupted=True)


@pytest.mark.django_db
def test_a_stop_before_the_engine_starts_ends_the_run_at_once(tmp_path: Path, settings: Any) -> None:
    settings.RUNS_DIR = str(tmp_path)
    run = Run.objects.create(name="r", config={}, state="starting", process={"cookie": "a cookie that nobody has"})
    epoch = lease.take(run.pk)
    assert epoch is not None
    assert services.request_stop(run)
    supervise(run.pk, epoch, threading.Event())
    run.refresh_from_db()
    assert (run.state, run.state_reason) == ("stopped", "Stopped before its engine started.")
    assert run.stop_proof["proven"]


# --- scheduling ---


@pytest.mark.django_db
def test_runs_start_in_order_and_only_while_a_slot_is_free(settings: Any) -> None:
    settings.STARBOARD_MAX_PARALLEL_RUNS = 2
    runs = [Run.objects.create(name=f"r{i}", config={}) for i in range(3)]
    # a task is a wake-up: whichever run it was sent for, the queue decides
    assert turns.claim(runs[2].pk) == (runs[0].pk, 1)
    assert turns.claim(runs[0].pk) == (runs[1].pk, 1)
    assert [turns.claim(run.pk) for run in runs] == [None, None, None]  # duplicates, and a run without a slot
    Run.objects.filter(pk=runs[0].pk).update(state="finished")
    assert turns.claim(runs[0].pk) == (runs[2].pk, 1)


@pytest.mark.django_db
def test_a_run_of_a_killed_worker_is_claimed_before_the_next_of_the_queue(settings: Any) -> None:
    settings.STARBOARD_MAX_PARALLEL_RUNS = 2
    live = Run.objects.create(name="live", config={}, state="running", epoch=4)
    queued = Run.objects.create(name="queued", config={})
    assert turns.claim(live.pk) == (live.pk, 5)
    assert turns.claim(live.pk) == (queued.pk, 1)  # it is held by now


# --- the lease ---


@pytest.mark.django_db
def test_a_lease_is_taken_once_and_each_takeover_increments_the_epoch(settings: Any) -> None:
    run = Run.objects.create(name="r", config={}, state="running")
    assert lease.take(run.pk) == 1
    assert lease.take(run.pk) is None
    lease.release(run.pk, 1)
    assert lease.take(run.pk) == 2
    with pytest.raises(lease.Fenced):
        lease.renew(run.pk, 1)
    lease.renew(run.pk, 2)
    settings.STARBOARD_LIMITS = {"lease": 0.0}
    lease.renew(run.pk, 2)
    assert lease.take(run.pk) is None  # this renewal is seen for the first time
    assert lease.take(run.pk) == 3


@pytest.mark.django_db
def test_a_lease_is_free_at_once_if_its_process_ended_and_after_expiry_if_it_is_on_another_host() -> None:
    run = Run.objects.create(name="r", config={}, state="running")
    lease.take(run.pk)
    machine = lease.this_holder().split(" ")[0]
    Run.objects.filter(pk=run.pk).update(lease_holder=f"elsewhere/pid:[1] {2**22} 5 1")
    assert lease.take(run.pk) is None
    Run.objects.filter(pk=run.pk).update(lease_holder=f"{machine} {2**22} 5 1")  # above the kernel's largest pid
    assert lease.take(run.pk) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["queued", "finished", "stopped", "failed", "crashed"])
def test_only_live_runs_are_supervised(state: str) -> None:
    run = Run.objects.create(name="r", config={}, state=state)
    assert lease.take(run.pk) is None


# --- files ---


def test_an_incomplete_line_is_truncated_before_another_attempt_appends(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b"')
    assert truncate_partial_line(path) == 4
    assert path.read_bytes() == b'{"a": 1}\n'
    assert truncate_partial_line(path) == 0
    assert truncate_partial_line(tmp_path / "absent") == 0


def test_a_line_longer_than_a_chunk_is_read_completely(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x" * 1000 + b"\n" + b"y\n")
    chunk = read_chunk(path, 0, limit=100)
    assert (chunk.end, chunk.events, len(chunk.lines)) == (1001, [], 1)


def test_a_line_without_an_end_is_passed_over_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LONGEST_LINE", 50)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x" * 49)
    assert read_chunk(path, 0, limit=10).end == 0  # its end may follow
    path.write_bytes(b"x" * 1000)
    chunk = read_chunk(path, 0, limit=10)
    assert (chunk.end, [line.refused for line in chunk.lines]) == (
        60,
        ["60 bytes without the end of a line, more than any event has"],
    )


def test_a_truncated_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"short\n")
    assert read_chunk(path, 100).end == 6


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("".join(f"line {i}\n" for i in range(5000)))
    assert log_tail(log, lines=2) == "line 4998\nline 4999"
    assert log_tail(tmp_path / "absent") == ""


# --- Celery ---


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("unix:///run/sb/redis.sock", "redis+socket:///run/sb/redis.sock?virtual_host=0"),
        ("unix:///run/sb/redis.sock?db=3", "redis+socket:///run/sb/redis.sock?virtual_host=3"),
    ],
)
def test_a_unix_socket_url_is_translated_for_the_broker(given: str, expected: str) -> None:
    assert broker_url(given) == expected


def test_tasks_are_json_acknowledged_early_and_keep_no_result() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert not app.conf.task_acks_late
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.result_backend is None


def loaded_by(imports: str) -> set[str]:
    """The names of all modules in a fresh process that has imported these."""
    script = f"import sys, django; {imports}; print(' '.join(sys.modules))"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE}
    done = subprocess.run([sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_web_can_name_tasks_without_loading_supervision() -> None:
    assert not loaded_by("django.setup(); import webapp.runs.services") & {
        "torch",
        "workers.tasks",
        "workers.supervisor",
    }


def test_supervision_never_loads_torch() -> None:
    assert not loaded_by("django.setup(); import workers.tasks, workers.suspension") & {"torch", "transformers"}
