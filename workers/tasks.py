"""The Celery tasks: short, idempotent, and of no account: an emptied broker loses nothing, since rows are looked at."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from webapp.runs.indexing import UNINDEXED, send_for_index
from webapp.runs.services import enqueue
from workers import housekeeping, lease, turns, what_if
from workers.app import HOUSEKEEP, INDEX, SUPERVISE, TEND, WHAT_IF, app
from workers.indexing import index
from workers.supervisor import supervise

log = logging.getLogger(__name__)

SHUTDOWN = threading.Event()


@app.task(name=SUPERVISE)
def supervise_run(run_id: str) -> None:
    """Takes the run's lease if nobody has it and it is the run's turn, and supervises it; else does nothing."""
    if SHUTDOWN.is_set():
        return
    epoch = turns.take_turn(run_id) or lease.take(run_id)
    if epoch is None:
        turns.tell_waiting()
        return
    supervise(run_id, epoch, SHUTDOWN)
    turns.call_next()


@app.task(name=TEND)
def tend() -> None:
    """Sends for a supervisor for each live run that has none, and for each queued run whose turn has come."""
    for run_id in lease.free_runs():
        enqueue(run_id)
    turns.call_next()
    for run_id in lease.free_runs(UNINDEXED):
        send_for_index(run_id)
    what_if.mend()
    what_if.call_next()


@app.task(name=WHAT_IF)
def play_what_if(pk: int) -> None:
    """Plays a queued what-if if it is its turn; else does nothing."""
    if not SHUTDOWN.is_set() and what_if.play(pk, SHUTDOWN):
        what_if.call_next()


@app.task(name=INDEX)
def index_run(run_id: str) -> None:
    """Brings an imported run's files into rows; does nothing when they are, or while another worker does it."""
    index(run_id)


@app.task(name=HOUSEKEEP)
def housekeep() -> None:
    housekeeping.keep_house()


@worker_shutting_down.connect
def let_go(**_: Any) -> None:
    """Supervisors leave within a round; their engines go on."""
    SHUTDOWN.set()


@worker_ready.connect
def look_at_once(**_: Any) -> None:
    """A new worker adopts what it finds without waiting for the clock."""
    try:
        app.signature(TEND).apply_async(retry=False)
    except Exception as error:
        log.warning("The first look has to wait for the clock: %s", error)
