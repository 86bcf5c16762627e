"""Evaluates checkpoints on request, one at a time, each in an engine process that its worker holds until it ends.

No other worker adopts one: when its worker is gone, its process is ended and it has failed.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from webapp.evaluations.models import EvaluationRequest, RequestState
from webapp.evaluations.requests import checkpoint_at, enqueue, publish
from webapp.runs.models import Checkpoint, Run
from webapp.runs.states import SUPERVISED
from workers import lease
from workers.bridge import Bridge
from workers.lease import Fenced
from workers.process import engine_start, start, sweep
from workers.tail import log_tail, why_it_ended

log = logging.getLogger(__name__)

AT_ONCE = 1
MOST_SECONDS = 7200.0  # a run that trains takes the results between two of its steps
POLL_SECONDS = 0.3
SWEEP_SECONDS = 30.0
ROWS_SECONDS = 30.0
Outcome = dict[str, Any]  # fields of the row


def play(pk: int, shutdown: threading.Event) -> bool:
    """Evaluates to the end; False if another one is running."""
    request = _take(pk)
    if request is None:
        return False
    try:
        outcome = _play(request, shutdown)
    except Exception as error:
        log.exception("Evaluation %d failed", pk)
        outcome = _failed(f"{type(error).__name__}: {error}")
    _end(request, outcome)
    return True


def dispatch_next() -> None:
    """Sends the oldest queued one to a worker, unless one is running."""
    if EvaluationRequest.objects.filter(state=RequestState.RUNNING).count() < AT_ONCE:
        waiting = EvaluationRequest.objects.filter(state=RequestState.QUEUED).order_by("pk").first()
        if waiting is not None:
            enqueue(waiting.pk)


def fail_abandoned() -> None:
    """Ends those whose worker no longer exists."""
    late = timezone.now() - timedelta(seconds=MOST_SECONDS + 2 * SWEEP_SECONDS)
    for request in EvaluationRequest.objects.filter(state=RequestState.RUNNING):
        overdue = request.started_at is not None and request.started_at < late
        if overdue or lease.holder_is_dead(request.process.get("holder", "")):
            sweep(request.process["cookie"], seconds=SWEEP_SECONDS)
            _end(request, _failed("The worker that evaluated it no longer exists. Evaluate again."))


def _take(pk: int) -> EvaluationRequest | None:
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and taking one act
        running = EvaluationRequest.objects.select_for_update().filter(state=RequestState.RUNNING)
        if len(running.values_list("pk", flat=True)) >= AT_ONCE:
            return None
        process = {"cookie": f"evaluation-{uuid.uuid4()}", "holder": lease.this_holder()}
        queued = EvaluationRequest.objects.filter(pk=pk, state=RequestState.QUEUED)
        if not queued.update(state=RequestState.RUNNING, started_at=timezone.now(), process=process):
            return None
    request = EvaluationRequest.objects.select_related("run").get(pk=pk)
    publish(request)
    return request


def _play(request: EvaluationRequest, shutdown: threading.Event) -> Outcome:
    checkpoint = checkpoint_at(request.run, request.step)
    if checkpoint is None:
        return _failed(
            f"The checkpoint of step {request.step} was removed before it could be evaluated. Raise checkpoint.keep to "
            "keep more of them."
        )
    child = _start(request, checkpoint)
    until = time.monotonic() + MOST_SECONDS
    interruption: Outcome | None = None
    while child.poll() is None and interruption is None:
        shutdown.wait(POLL_SECONDS)
        interruption = _interruption(request, late=time.monotonic() > until, shutdown=shutdown)
    left = sweep(request.process["cookie"], seconds=SWEEP_SECONDS).left
    if left:
        log.warning("Evaluation %d: processes %s did not end", request.pk, left)
    status = child.wait()
    if interruption is not None:
        return interruption
    if status != 0:
        return _failed(why_it_ended(log_tail(request.log), status))
    _write_rows(request.run)
    return {"state": RequestState.FINISHED}


def _start(request: EvaluationRequest, checkpoint: Checkpoint) -> subprocess.Popen[bytes]:
    directory = request.run.directory.resolve()
    command = [
        *engine_start(), "evaluate", str(directory), "--model", str(directory / checkpoint.path), "--record",
    ]  # fmt: skip
    # a run that trains needs its GPU for itself
    busy = Run.objects.filter(state__in=SUPERVISED).exists()
    variables = {"CUDA_VISIBLE_DEVICES": ""} if busy else {}
    request.log.unlink(missing_ok=True)
    return start(command, request.log, cookie=request.process["cookie"], variables=variables)


def _interruption(request: EvaluationRequest, *, late: bool, shutdown: threading.Event) -> Outcome | None:
    request.refresh_from_db(fields=["stop_requested"])
    if request.stop_requested:
        return {"state": RequestState.STOPPED, "message": "Stopped on request."}
    if late:
        return _failed(f"It took longer than {MOST_SECONDS / 3600:g} h. Lower evaluation.final_episodes.")
    return _failed("The worker was shut down. Evaluate again.") if shutdown.is_set() else None


def _write_rows(run: Run) -> None:
    """Returns when the events so far are rows. The supervisor of a live run writes them, otherwise this process."""
    written = (run.directory / "events.jsonl").stat().st_size
    until = time.monotonic() + ROWS_SECONDS
    while time.monotonic() < until:
        run.refresh_from_db()
        if run.event_offset >= written:
            return
        if not run.is_supervised:
            try:
                Bridge(run, run.epoch).drain(moves=False)
            except Fenced:
                continue  # a supervisor has just taken the run, and writes them
        time.sleep(POLL_SECONDS)


def _failed(message: str) -> Outcome:
    return {"state": RequestState.FAILED, "message": message.replace("\0", "\ufffd")}


def _end(request: EvaluationRequest, outcome: Outcome) -> None:
    running = EvaluationRequest.objects.filter(pk=request.pk, state=RequestState.RUNNING)
    running.update(ended_at=timezone.now(), **outcome)
    publish(request)
