"""Plays what-ifs: an engine process each, one at a time, held by a worker until it ends, its time is over, or a stop.

A what-if is short, so nobody adopts one: when its worker is gone, its process is swept and it has failed.
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
LOADING_SECONDS = 300.0  # beside the seconds of sampling that the engine holds by itself
POLL_SECONDS = 0.2
GLANCE_SECONDS = 0.05  # the engine gathers words for as long
SWEEP_SECONDS = 30.0
ENDINGS = {"finished": State.FINISHED, "refused": State.REFUSED, "failed": State.FAILED}
ENVELOPE = ("seq", "kind", "time", "message", "remedy")  # of a message of the engine; the rest is what came of it
Outcome = dict[str, Any]  # fields of the row


def play(pk: int, shutdown: threading.Event) -> bool:
    """Plays it to its end; False where it is not its turn."""
    asked = _take(pk)
    if asked is None:
        return False
    try:
        outcome = _play(asked, shutdown)
    except Exception as error:
        log.exception("What-if %d could not be played", pk)
        outcome = _failed(f"It could not be played: {type(error).__name__}: {error}", "The worker's log says where.")
    _end(asked, outcome)
    return True


def call_next() -> None:
    """Sends for a worker for the one whose turn it is."""
    if WhatIf.objects.filter(state=State.RUNNING).count() < AT_ONCE:
        waiting = WhatIf.objects.filter(state=State.QUEUED).order_by("pk").first()
        if waiting is not None:
            services.enqueue(waiting.pk)


def mend() -> None:
    """Ends those whose worker is gone."""
    late = timezone.now() - timedelta(seconds=LOADING_SECONDS + services.MOST_SECONDS + 2 * SWEEP_SECONDS)
    for asked in WhatIf.objects.filter(state=State.RUNNING):
        overdue = asked.started_at is not None and asked.started_at < late
        if overdue or lease.holder_is_dead(asked.process.get("holder", "")):
            sweep(asked.process["cookie"], seconds=SWEEP_SECONDS)
            _end(asked, _failed("The worker that played it is gone.", "Ask again."))


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


def _play(asked: WhatIf, shutdown: threading.Event) -> Outcome:
    origin = origin_of(asked)
    if origin is None or origin.why_never():
        words = origin.why_never() if origin else "The trajectory that it forks is gone."
        return _failed(words, "Ask it of one that is listed.")
    child = _start(asked, origin)
    until = time.monotonic() + LOADING_SECONDS + services.MOST_SECONDS
    broken_off: Outcome | None = None
    told = 0
    while child.poll() is None and broken_off is None:
        told = _tell_pages(asked, told, shutdown)
        broken_off = _why_broken_off(asked, late=time.monotonic() > until, shutdown=shutdown.is_set())
    left = sweep(asked.process["cookie"], seconds=SWEEP_SECONDS).left
    if left:
        log.warning("What-if %d: processes %s did not end", asked.pk, left)
    return broken_off or _outcome(asked, child.wait())


def _start(asked: WhatIf, origin: Origin) -> subprocess.Popen[bytes]:
    # a run that trains needs its GPU for itself
    device = "cpu" if Run.objects.filter(state__in=SUPERVISED).exists() else "auto"
    chosen = {name: getattr(asked, name) for name in ("turn", "edit", "text", "checkpoint", "temperature", "seed")}
    request = services.request_of(origin, chosen, device=device)
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "request.json", request.model_dump(mode="json"))
    command = [*engine_start(), "what-if", str(folder / "request.json"), "--out", str(folder)]
    return start(command, folder / "engine.log", cookie=asked.process["cookie"], words={})


def _tell_pages(asked: WhatIf, told: int, shutdown: threading.Event) -> int:
    """For a moment: announces each time that the engine has told more than `told` bytes; the bytes that it has."""
    until = time.monotonic() + POLL_SECONDS
    while time.monotonic() < until and not shutdown.wait(GLANCE_SECONDS):
        if (now := services.bytes_told(asked)) != told:
            told = now
            publish_what_if(asked.pk)
    return told


def _why_broken_off(asked: WhatIf, *, late: bool, shutdown: bool) -> Outcome | None:
    asked.refresh_from_db(fields=["stop_asked"])
    if asked.stop_asked:
        return {"state": State.STOPPED, "message": "Stopped on request."}
    if late:
        return _failed("It took too long and was ended.", "Take a smaller model, or ask again when less is going on.")
    return _failed("The worker was shut down.", "Ask again.") if shutdown else None


def _outcome(asked: WhatIf, exit_status: int) -> Outcome:
    """What the engine's last message says, or what its log ends with."""
    last: dict[str, Any] = {"seq": 0}
    while told := services.events_after(asked, last["seq"]):
        last = told[-1]
    state = ENDINGS.get(last.get("kind", ""))
    if state is None:
        words = log_tail(asked.folder / "engine.log").strip().splitlines()[-1:]
        return _failed(f"The engine ended with exit status {exit_status} and said nothing.", " ".join(words)[:500])
    summary = {name: value for name, value in last.items() if name not in ENVELOPE}
    message = _storable(last.get("message") or last.get("note") or "")
    return {"state": state, "message": message, "remedy": _storable(last.get("remedy", "")), "summary": summary}


def _storable(text: str) -> str:
    """An environment's words may hold what no database keeps."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _failed(message: str, remedy: str) -> Outcome:
    return {"state": State.FAILED, "message": message, "remedy": remedy}


def _end(asked: WhatIf, outcome: Outcome) -> None:
    WhatIf.objects.filter(pk=asked.pk, state=State.RUNNING).update(ended_at=timezone.now(), **outcome)
    publish_what_if(asked.pk)
