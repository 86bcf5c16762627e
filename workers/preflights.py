"""Plays pre-flights, one at a time, each in an engine process that its worker holds until it ends or is stopped.

A pre-flight is short, so no other worker adopts one: when its worker is gone, its process is ended and it has failed.
"""

from __future__ import annotations

import json
import logging
import subprocess
import threading
import time
import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from webapp.environments.models import Preflight, PreflightState
from webapp.environments.preflight_queue import enqueue
from workers import lease
from workers.control import write_json
from workers.process import engine_start, start, sweep
from workers.tail import log_tail, why_it_ended

log = logging.getLogger(__name__)

AT_ONCE = 1
PLAYER_SECONDS = 300.0
MODEL_SECONDS = 1800.0
PLAYER_MIB = 4096  # a model needs what it needs
POLL_SECONDS = 0.3
SWEEP_SECONDS = 30.0
LARGEST_REPORT = 8 << 20
Outcome = dict[str, Any]  # fields of the row


def play(pk: int, shutdown: threading.Event) -> bool:
    """Plays it to its end; False if another one is running."""
    preflight = _take(pk)
    if preflight is None:
        return False
    try:
        outcome = _play(preflight, shutdown)
    except Exception as error:
        log.exception("Pre-flight %d failed", pk)
        outcome = _failed(f"{type(error).__name__}: {error}")
    _end(preflight, outcome)
    return True


def dispatch_next() -> None:
    """Sends the oldest queued one to a worker, unless one is running."""
    if Preflight.objects.filter(state=PreflightState.RUNNING).count() < AT_ONCE:
        waiting = Preflight.objects.filter(state=PreflightState.QUEUED).order_by("pk").first()
        if waiting is not None:
            enqueue(waiting.pk)


def fail_abandoned() -> None:
    """Ends those whose worker no longer exists."""
    late = timezone.now() - timedelta(seconds=MODEL_SECONDS + 2 * SWEEP_SECONDS)
    for preflight in Preflight.objects.filter(state=PreflightState.RUNNING):
        overdue = preflight.started_at is not None and preflight.started_at < late
        if overdue or lease.holder_is_dead(preflight.process.get("holder", "")):
            sweep(preflight.process["cookie"], seconds=SWEEP_SECONDS)
            _end(preflight, _failed("The worker that played it no longer exists. Start it again."))


def _take(pk: int) -> Preflight | None:
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and taking one act
        running = Preflight.objects.select_for_update().filter(state=PreflightState.RUNNING)
        if len(running.values_list("pk", flat=True)) >= AT_ONCE:
            return None
        process = {"cookie": f"preflight-{uuid.uuid4()}", "holder": lease.this_holder()}
        queued = Preflight.objects.filter(pk=pk, state=PreflightState.QUEUED)
        if not queued.update(state=PreflightState.RUNNING, started_at=timezone.now(), process=process):
            return None
    return Preflight.objects.get(pk=pk)


def _play(preflight: Preflight, shutdown: threading.Event) -> Outcome:
    seconds = MODEL_SECONDS if preflight.model else PLAYER_SECONDS
    child = _start(preflight)
    until = time.monotonic() + seconds
    interruption: Outcome | None = None
    while child.poll() is None and interruption is None:
        shutdown.wait(POLL_SECONDS)
        _store_report(preflight)
        interruption = _interruption(preflight, late=time.monotonic() > until, shutdown=shutdown, seconds=seconds)
    left = sweep(preflight.process["cookie"], seconds=SWEEP_SECONDS).left
    if left:
        log.warning("Pre-flight %d: processes %s did not end", preflight.pk, left)
    status = child.wait()
    _store_report(preflight)
    if interruption:
        return interruption
    if status == 0:
        return {"state": PreflightState.FINISHED}
    return _failed(why_it_ended(log_tail(preflight.folder / "engine.log"), status))


def _start(preflight: Preflight) -> subprocess.Popen[bytes]:
    folder = preflight.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", preflight.config)
    who = ["--model", preflight.model] if preflight.model else ["--player", preflight.player]
    limit = [] if preflight.model else ["--memory-mib", str(PLAYER_MIB)]
    command = [
        *engine_start(), "preflight", str(folder / "config.json"), *who, *limit,
        "--problems", str(preflight.problems), "--rollouts", str(preflight.rollouts),
        "--first-seed", str(preflight.first_seed), "--out", str(folder / "report.json"),
    ]  # fmt: skip
    return start(command, folder / "engine.log", cookie=preflight.process["cookie"], variables={})


def _store_report(preflight: Preflight) -> None:
    """What has been played so far, if it is more than the row has."""
    path = preflight.folder / "report.json"
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_REPORT:
            return
        report = json.loads(path.read_text(encoding="utf-8").replace("\\u0000", "\\ufffd"))
    except (OSError, ValueError):
        return
    if report != preflight.report:
        preflight.report = report
        Preflight.objects.filter(pk=preflight.pk).update(report=report)


def _interruption(preflight: Preflight, *, late: bool, shutdown: threading.Event, seconds: float) -> Outcome | None:
    preflight.refresh_from_db(fields=["stop_requested"])
    if preflight.stop_requested:
        return {"state": PreflightState.STOPPED, "message": "Stopped on request."}
    if late:
        return _failed(f"It took longer than {seconds:g} s. Play fewer problems or rollouts.")
    return _failed("The worker was shut down. Start it again.") if shutdown.is_set() else None


def _failed(message: str) -> Outcome:
    return {"state": PreflightState.FAILED, "message": message.replace("\0", "\ufffd")}


def _end(preflight: Preflight, outcome: Outcome) -> None:
    running = Preflight.objects.filter(pk=preflight.pk, state=PreflightState.RUNNING)
    running.update(ended_at=timezone.now(), **outcome)
