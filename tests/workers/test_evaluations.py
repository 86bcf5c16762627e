"""Requested evaluations on the worker: by real engines, with results in events and rows, and never left behind."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from engine.reservations import markers
from engine.training.checkpoint_folder import checkpoints, prune, step_of
from tests.builders.small_run import make_small_run, small_config
from tests.workers.engine_record import recorded
from tests.workers.workplace import Workplace, events_in_file, wait_for
from webapp.evaluations import requests
from webapp.evaluations.models import EvaluationRequest
from webapp.evaluations.requests import NO_WORKER, newest_requests
from webapp.jobs import JobState, Refused
from webapp.run_pages.removal import removals
from webapp.runs.models import Checkpoint, Run
from workers import lease
from workers.bridge import Bridge
from workers.engine_process import start
from workers.evaluations import ROWS_SECONDS, HeldEvaluation
from workers.housekeeping import release_checkpoints
from workers.process import processes_with_cookie, sweep
from workers.rebuilding import rebuild

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]

# as `engine evaluate --record` does once it has played: step 1, 3 of 4 problems solved
RECORDER = """
import sys
from pathlib import Path
from engine.events import CheckpointEvaluated
from engine.training.requested_evaluations import hand_over
fields = dict(environment="Lake", episodes=4, successes=3, success=0.75, low=0.3, high=0.95, mean_return=0.5)
result = CheckpointEvaluated(step=1, first_seed=1, temperature=1.0, seconds=2.0, **fields)
hand_over(Path(sys.argv[2]), [result])
"""

# the same, which plays until there is a file `played`
WAITING_RECORDER = f"""
import sys, time
from pathlib import Path
while not (Path(sys.argv[2]) / "played").exists():
    time.sleep(0.02)
{RECORDER}
"""


@pytest.fixture
def run(tmp_path: Path, transactional_db: None, settings: Settings) -> Iterator[Run]:
    """With a checkpoint that no engine could load."""
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = Run.objects.create(name="a run", config=small_config().model_dump(mode="json"), state="finished")
    Checkpoint.objects.create(run=run, step=1, path="checkpoints/step_1", bytes=1, reason="final", time=1.0)
    (run.directory / "checkpoints/step_1").mkdir(parents=True)
    yield run
    for request in EvaluationRequest.objects.all():
        sweep(request.process.get("cookie", "none"), seconds=5)


def ask(run: Run) -> EvaluationRequest:
    return EvaluationRequest.objects.create(run=run, step=1)


def play(request: EvaluationRequest) -> EvaluationRequest:
    assert HeldEvaluation.play(request.pk, threading.Event())
    request.refresh_from_db()
    return request


@pytest.mark.slow
def test_a_worker_evaluates_a_checkpoint_and_its_result_is_an_event_and_a_row(
    workplace: Workplace, settings: Any
) -> None:
    workplace.engine = []
    settings.STARBOARD_ENGINE_COMMAND = None
    make_small_run(workplace.directory / "runs/arun")
    config = small_config().model_dump(mode="json")
    Run.objects.create(pk="arun", name="a small run", config=config, state="finished")
    run = rebuild("arun")
    with pytest.raises(Refused, match="No worker answers"):
        requests.submit(run, 1, None)
    workplace.start_worker()
    request = requests.submit(run, 1, None)
    with pytest.raises(Refused, match="already being evaluated"):
        requests.submit(run, 1, None)
    wait_for(lambda: not newest_requests(run), seconds=90, what="the end of the evaluation")
    request.refresh_from_db()
    assert (request.state, request.message) == ("finished", "")
    own, requested = run.evaluations.order_by("requested")
    assert (own.final, requested.final, requested.requested) == (True, False, True)
    assert (requested.successes, requested.episodes) == (own.successes, own.episodes)
    assert (requested.problem_list, bytes(requested.solved)) == (own.problem_list, bytes(own.solved))
    assert [event["kind"] for event in events_in_file(run)][-2:] == ["checkpoint_evaluated", "problems_played"]
    run.refresh_from_db()
    assert run.state == "finished"
    assert run.events.filter(kind="checkpoint_evaluated").count() == 1
    assert rebuild("arun").evaluations.filter(requested=True).count() == 1


def test_a_removed_checkpoint_is_refused_and_one_removed_meanwhile_fails(run: Run) -> None:
    request = ask(run)
    shutil.rmtree(run.directory / "checkpoints")
    assert play(request).state == "failed"
    assert "was removed before it could be evaluated" in request.message
    assert newest_requests(run) == [{"step": 1, "state": "failed", "message": request.message, "stopping": False}]
    with pytest.raises(Refused, match="The checkpoint of step 1 no longer exists"):
        requests.submit(run, 1, None)


def test_a_checkpoint_that_waits_for_its_evaluation_is_not_removed_until_that_is_over(
    run: Run, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(requests, "why_no_worker", str)
    folder = run.directory / "checkpoints"
    (folder / "step_2").mkdir()

    def keeps_the_newest() -> list[int]:
        prune(folder, newest=1, before=(), held_out={}, good=checkpoints(folder))
        return [step_of(path) for path in checkpoints(folder)]

    request = requests.submit(run, 1, None)
    assert keeps_the_newest() == [1, 2]
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", "raise SystemExit('error: no room')"]
    assert play(request).state == "failed"
    assert keeps_the_newest() == [2]


def test_reservations_of_jobs_that_are_gone_are_released(run: Run) -> None:
    folder = run.directory / "checkpoints"
    waiting, over = ask(run), EvaluationRequest.objects.create(run=run, step=2, state=JobState.FAILED)
    new = EvaluationRequest(pk=4711, run=run, step=1)  # of a transaction that is not over
    (folder / "step_2").mkdir()
    for request in (waiting, over, new):
        assert request.reserve_checkpoint()
    for marker, by in markers(folder):
        if by != new.marker:
            os.utime(marker, (0, 0))
    release_checkpoints(run)
    assert {by for _, by in markers(folder)} == {waiting.marker, new.marker}


def test_a_run_whose_checkpoint_is_being_evaluated_is_not_deleted(run: Run) -> None:
    request = ask(run)
    assert removals([run])[0].refusal.startswith("An evaluation of one of its checkpoints is queued")
    request.stop()
    assert removals([run])[0].refusal == ""


def test_without_a_worker_a_request_is_refused(run: Run) -> None:
    with pytest.raises(Refused) as refused:
        requests.submit(run, 1, None)
    assert str(refused.value) == NO_WORKER
    assert not EvaluationRequest.objects.exists()


def test_the_error_of_an_engine_is_the_message(run: Run, settings: Settings) -> None:
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", "raise SystemExit('error: no room')"]
    request = play(ask(run))
    assert (request.state, request.message) == ("failed", "no room")


@pytest.mark.parametrize("lines_left", [0, 1, None])
def test_the_result_is_stored_although_the_file_of_events_was_cut_or_deleted(
    run: Run, settings: Settings, lines_left: int | None
) -> None:
    """Of its 4 events only the first is left, or none, and the newest are of a second attempt: the result is number 5
    of that attempt, as in the rows."""
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", RECORDER]
    record = recorded(run, steps=1)
    record.attempt = 2
    record.started(resumed_from=1)
    record.step(2)
    Bridge(run, run.epoch).drain(moves=False)
    lines = record.path.read_bytes().splitlines(keepends=True)
    if lines_left is None:
        record.path.unlink()
    else:
        record.path.write_bytes(b"".join(lines[:lines_left]))
    request = play(ask(run))
    assert (request.state, request.message) == ("finished", "")
    newest = events_in_file(run)[-1]
    assert (newest["kind"], newest["seq"], newest["attempt"]) == ("checkpoint_evaluated", 5, 2)
    assert run.evaluations.get(requested=True).successes == 3


@pytest.mark.parametrize("lines_left", [0, 3])
def test_the_result_has_a_number_of_its_own_although_the_run_went_on_and_its_file_was_cut_meanwhile(
    run: Run, settings: Settings, lines_left: int
) -> None:
    """It had 2 events when the evaluation began; a second attempt added 3, and then the file was cut. The result is
    number 6: the rows have 5."""
    settings.STARBOARD_ENGINE_COMMAND = [sys.executable, "-c", WAITING_RECORDER]
    record = recorded(run, steps=1)
    Bridge(run, run.epoch).drain(moves=False)
    request = ask(run)
    playing = threading.Thread(target=play, args=[request])
    playing.start()
    wait_for(lambda: request.log.exists(), what="an engine that plays")
    record.attempt = 2
    record.started(resumed_from=1)
    record.step(2)
    record.step(3)
    Bridge(run, run.epoch).drain(moves=False)
    lines = record.path.read_bytes().splitlines(keepends=True)
    record.path.write_bytes(b"".join(lines[:lines_left]))
    (run.directory / "played").touch()
    playing.join(30)
    newest = events_in_file(run)[-1]
    assert (newest["kind"], newest["seq"], newest["attempt"]) == ("checkpoint_evaluated", 6, 2)
    assert run.evaluations.get(requested=True).successes == 3


def test_a_worker_that_shuts_down_leaves_the_rows_of_a_live_run_to_its_next_supervisor(run: Run) -> None:
    recorded(run)
    Run.objects.filter(pk=run.pk).update(state="running")
    shutdown = threading.Event()
    shutdown.set()
    began = time.monotonic()
    held = HeldEvaluation(ask(run))
    held.shutdown = shutdown
    assert held.outcome(0)["state"] == "finished"
    assert time.monotonic() - began < ROWS_SECONDS / 3
    run.refresh_from_db()
    assert run.last_seq == 0


def test_a_stop_ends_a_queued_one_at_once_and_a_running_ones_process(run: Run, settings: Settings) -> None:
    queued = ask(run)
    assert requests.stop(run, 1)
    queued.refresh_from_db()
    assert (queued.state, requests.stop(run, 1)) == ("stopped", False)
    settings.STARBOARD_ENGINE_COMMAND = SLEEPER
    request = ask(run)
    playing = threading.Thread(target=HeldEvaluation.play, args=[request.pk, threading.Event()])
    playing.start()

    def cookie() -> str:
        request.refresh_from_db()
        return str(request.process.get("cookie", "none"))

    wait_for(lambda: processes_with_cookie(cookie()), seconds=20)
    assert not HeldEvaluation.play(EvaluationRequest.objects.create(run=run, step=2).pk, threading.Event())
    assert requests.stop(run, 1)
    playing.join(20)
    request.refresh_from_db()
    assert (request.state, request.message) == ("stopped", "Stopped on request.")
    assert processes_with_cookie(cookie()) == []


def test_one_that_lost_its_worker_fails_and_its_process_is_ended(run: Run) -> None:
    request = ask(run)
    child = start(SLEEPER, request.log, cookie="evaluation-lost", variables={})
    holder = lease.this_holder().split(" ")
    holder[2] = "1"  # a process with this pid that started at another time
    process = {"cookie": "evaluation-lost", "holder": " ".join(holder)}
    EvaluationRequest.objects.update(state=JobState.RUNNING, started_at=timezone.now(), process=process)
    HeldEvaluation.fail_abandoned()
    request.refresh_from_db()
    assert (request.state, child.wait(10)) == ("failed", -9)
    assert "worker that evaluated it no longer exists" in request.message
