"""The Celery tasks: short and idempotent. An emptied broker loses nothing, since all state is in rows."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from webapp.logs import bound
from webapp.runs import preemption, queue
from webapp.runs.indexing import UNINDEXED, enqueue_index, unread_runs
from webapp.runs.services import enqueue
from webapp.sweeps.advancing import advance_all
from workers import copies, environment_calls, housekeeping, lease, model_inspections, page_calls, turns
from workers.app import ADOPT, CALL, COPY_RUNS, HOUSEKEEP, INDEX, INSPECT, MEASURE, SUPERVISE, app
from workers.held_jobs import HeldJob
from workers.indexing import index
from workers.job_kinds import KINDS
from workers.supervisor import supervise

log = logging.getLogger(__name__)

SHUTDOWN = threading.Event()


@app.task(name=SUPERVISE)
def supervise_run(run_id: str) -> None:
    """Supervises the run if it is live and has no supervisor, else the next of the queue if there is a slot for it, or
    will be once a run of lower priority has given up its own."""
    if SHUTDOWN.is_set():
        return
    claimed = turns.claim(run_id)
    if claimed is None:
        preemption.preempt()
        queue.report()
        return
    supervise(*claimed, SHUTDOWN)
    advance_all()
    turns.dispatch_next()


@app.task(name=ADOPT)
def adopt_unsupervised_runs() -> None:
    """Enqueues a supervisor for each live run without one, then the next runs of sweeps, and a supervisor for each
    queued run with a free slot."""
    for run_id in lease.unheld_runs():
        enqueue(run_id)
    advance_all()
    turns.dispatch_next()
    for run_id in {*lease.unheld_runs(UNINDEXED), *unread_runs()}:
        enqueue_index(run_id)
    for kind in KINDS:
        kind.fail_abandoned()
        kind.dispatch_next()


def play_job(kind: type[HeldJob[Any]], pk: int) -> None:
    """Plays a queued job if there is room for one of its kind, then sends the next one."""
    with bound(job=f"{kind.model.NOUN} {pk}"):
        if not SHUTDOWN.is_set() and kind.play(pk, SHUTDOWN):
            kind.dispatch_next()


def _add_task(kind: type[HeldJob[Any]]) -> None:
    @app.task(name=kind.model.TASK)
    def play(pk: int) -> None:
        play_job(kind, pk)


for _kind in KINDS:
    _add_task(_kind)


@app.task(name=CALL)
def call_environment(key: str, call: str, config: dict[str, Any], arguments: dict[str, Any], seconds: float) -> None:
    """Answers a call that a page waits for, in the list `key` of Redis."""
    environment_calls.answer_call(key, call, config, arguments, seconds)


@app.task(name=MEASURE)
def measure_environments() -> None:
    """Measures the facts of environments that have none."""
    environment_calls.measure_environments(SHUTDOWN)


@app.task(name=INSPECT)
def inspect_model(key: str, path: str, adapter: str, seconds: float) -> None:
    """Answers what a page asks about a model, in the list `key` of Redis."""
    page_calls.answer(key, lambda: model_inspections.inspect(path, seconds, adapter))


@app.task(name=INDEX)
def index_run(run_id: str) -> None:
    """Writes the files of a run from elsewhere into rows; does nothing if that is done, or while another worker
    does it."""
    with bound(run_id=run_id):
        if not SHUTDOWN.is_set():
            index(run_id, SHUTDOWN)


@app.task(name=COPY_RUNS)
def copy_runs() -> None:
    """Copies runs that are over to the bucket, if there is one, and deletes copies of runs that were deleted."""
    copies.copy_ended_runs()


@app.task(name=HOUSEKEEP)
def housekeep() -> None:
    housekeeping.run_housekeeping()


@worker_shutting_down.connect
def stop_supervisors(**_: Any) -> None:
    """Supervisors end within a round; their engines continue."""
    SHUTDOWN.set()
    # a signal may have come while this very thread reads from a helper, whose pipe it would wait for
    threading.Thread(target=environment_calls.stop, daemon=True).start()


@worker_ready.connect
def adopt_runs_at_start(**_: Any) -> None:
    """A new worker adopts runs and measures environments at once, without waiting for the schedule."""
    try:
        app.signature(ADOPT).apply_async(retry=False)
        app.signature(MEASURE).apply_async(retry=False)
    except Exception as error:
        log.warning("Adopting runs waits for the schedule: %s", error)
    environment_calls.warm_up()
