"""Plays what-ifs, one at a time, each in an engine process that its worker holds until it ends or is stopped.

A what-if is short, so no other worker adopts one: when its worker is gone, its process is ended and it has failed.
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

from engine.what_if.events import Failed, Finished, Refused
from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from webapp.updates import publish_what_if
from webapp.whatif import services
from webapp.whatif.models import State, WhatIf
from webapp.whatif.origins import Origin, origin_of
from workers import lease
from workers.control import write_json
from workers.process import engine_start, start, sweep
from workers.tail import log_tail

log = logging.getLogger(__name__)

AT_ONCE = 1
LOADING_SECONDS = 300.0  # in addition to the seconds of sampling, which the engine limits itself
POLL_SECONDS = 0.2
GLANCE_SECONDS = 0.05  # the engine gathers text for as long
SWEEP_SECONDS = 30.0
SUMMARY = {"turns", "success", "episode_return", "stop"}  # fields of the last event that the row has
Outcome = dict[str, Any]  # fields of the row


def play(pk: int, shutdown: threading.Event) -> bool:
    """Plays it to its end; False if another one is running."""
    what_if = _take(pk)
    if what_if is None:
        return False
    try:
        outcome = _play(what_if, shutdown)
    except Exception as error:
        log.exception("What-if %d failed", pk)
        outcome = _failed(f"{type(error).__name__}: {error}", "The traceback is in the worker's log.")
    _end(what_if, outcome)
    return True


def dispatch_next() -> None:
    """Sends the oldest queued one to a worker, unless one is running."""
    if WhatIf.objects.filter(state=State.RUNNING).count() < AT_ONCE:
        waiting = WhatIf.objects.filter(state=State.QUEUED).order_by("pk").first()
        if waiting is not None:
            services.enqueue(waiting.pk)


def fail_abandoned() -> None:
    """Ends those whose worker no longer exists."""
    late = timezone.now() - timedelta(seconds=LOADING_SECONDS + services.MOST_SECONDS + 2 * SWEEP_SECONDS)
    for what_if in WhatIf.objects.filter(state=State.RUNNING):
        overdue = what_if.started_at is not None and what_if.started_at < late
        if overdue or lease.holder_is_dead(what_if.process.get("holder", "")):
            sweep(what_if.process["cookie"], seconds=SWEEP_SECONDS)
            _end(what_if, _failed("The worker that played it no longer exists.", "Submit it again."))


def _take(pk: int) -> WhatIf | None:
    with transaction.atomic():
        # the lock (PostgreSQL) or the immediate transaction (SQLite) makes counting and taking one act
        running = list(WhatIf.objects.select_for_update().filter(state=State.RUNNING).values_list("pk", flat=True))
        if len(running) >= AT_ONCE:
            return None
        process = {"cookie": f"what-if-{uuid.uuid4()}", "holder": lease.this_holder()}
        queued = WhatIf.objects.filter(pk=pk, state=State.QUEUED)
        if not queued.update(state=State.RUNNING, started_at=timezone.now(), process=process):
            return None
    publish_what_if(pk)
    return WhatIf.objects.select_related("run").get(pk=pk)


def _play(what_if: WhatIf, shutdown: threading.Event) -> Outcome:
    origin = origin_of(what_if)
    if origin is None or origin.obstacle():
        reason = origin.obstacle() if origin else "The trajectory that it forks no longer exists."
        return _failed(reason, "Fork a trajectory that is listed.")
    child = _start(what_if, origin)
    until = time.monotonic() + LOADING_SECONDS + services.MOST_SECONDS
    interruption: Outcome | None = None
    size = 0
    while child.poll() is None and interruption is None:
        size = _publish_output(what_if, size, shutdown)
        interruption = _interruption(what_if, late=time.monotonic() > until, shutdown=shutdown.is_set())
    left = sweep(what_if.process["cookie"], seconds=SWEEP_SECONDS).left
    if left:
        log.warning("What-if %d: processes %s did not end", what_if.pk, left)
    return interruption or _outcome(what_if, child.wait())


def _start(what_if: WhatIf, origin: Origin) -> subprocess.Popen[bytes]:
    # a run that trains needs its GPU for itself
    device = "cpu" if Run.objects.filter(state__in=SUPERVISED).exists() else "auto"
    chosen = {name: getattr(what_if, name) for name in ("turn", "edit", "text", "checkpoint", "temperature", "seed")}
    request = services.request_of(origin, chosen, device=device)
    folder = what_if.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "request.json", request.model_dump(mode="json"))
    command = [*engine_start(), "what-if", str(folder / "request.json"), "--out", str(folder)]
    return start(command, folder / "engine.log", cookie=what_if.process["cookie"], variables={})


def _publish_output(what_if: WhatIf, size: int, shutdown: threading.Event) -> int:
    """For one poll: publishes an update each time that the engine's file has grown beyond `size`; returns its size."""
    until = time.monotonic() + POLL_SECONDS
    while time.monotonic() < until and not shutdown.wait(GLANCE_SECONDS):
        if (now := services.bytes_written(what_if)) != size:
            size = now
            publish_what_if(what_if.pk)
    return size


def _interruption(what_if: WhatIf, *, late: bool, shutdown: bool) -> Outcome | None:
    what_if.refresh_from_db(fields=["stop_requested"])
    if what_if.stop_requested:
        return {"state": State.STOPPED, "message": "Stopped on request."}
    if late:
        return _failed("It timed out.", "Use a smaller model, or submit it again when the machine is less busy.")
    return _failed("The worker was shut down.", "Submit it again.") if shutdown else None


def _outcome(what_if: WhatIf, exit_status: int) -> Outcome:
    """From the engine's last event, or else from the end of its log."""
    match services.last_event(what_if):
        case Finished() as event:
            summary = event.model_dump(include=SUMMARY)
            return {"state": State.FINISHED, "message": _storable(event.note), "summary": summary}
        case Refused(message=message, remedy=remedy):
            return {"state": State.REFUSED, "message": _storable(message), "remedy": _storable(remedy)}
        case Failed(message=message, remedy=remedy):
            return _failed(_storable(message), _storable(remedy))
        case _:
            lines = log_tail(what_if.folder / "engine.log").strip().splitlines()[-1:]
            return _failed(
                f"The engine ended with exit status {exit_status} and reported no result.", " ".join(lines)[:500]
            )


def _storable(text: str) -> str:
    """An environment's text may hold characters that databases refuse."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _failed(message: str, remedy: str) -> Outcome:
    return {"state": State.FAILED, "message": message, "remedy": remedy}


def _end(what_if: WhatIf, outcome: Outcome) -> None:
    WhatIf.objects.filter(pk=what_if.pk, state=State.RUNNING).update(ended_at=timezone.now(), **outcome)
    publish_what_if(what_if.pk)
