"""Engines that the machine ends: by an orderly shutdown of Starboard, or a restart of the machine or container.

No user ended those runs, so their next supervisor queues them again, as their next attempt.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from workers.process import Identity, Liveness, identity_from_row, is_local, liveness, send_signal, sweep

SWEEP_SECONDS = 5.0
MARK = "interrupted"


def suspend_runs(seconds: float) -> int:
    """Ends every engine of this machine, with a checkpoint where `seconds` suffice; returns how many there were.

    For a launcher that shuts down, after its workers have ended: a worker would start the runs again.
    """
    engines = [engine for run in Run.objects.filter(state__in=SUPERVISED) if (engine := _interrupt(run)) is not None]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(liveness(engine) is Liveness.ALIVE for engine in engines):
        time.sleep(0.1)
    for engine in engines:
        sweep(engine.cookie, seconds=SWEEP_SECONDS)
    return len(engines)


def _interrupt(run: Run) -> Identity | None:
    """Marks the run, then sends SIGTERM; in this order, so that the end never looks like a crash."""
    engine = identity_from_row(run.process)
    if engine is None or liveness(engine) is not Liveness.ALIVE:
        return None
    Run.objects.filter(pk=run.pk, epoch=run.epoch).update(process={**run.process, MARK: True})
    send_signal(engine, signal.SIGTERM)
    return engine


def is_interrupted(run: Run) -> bool:
    """Marked by `suspend_runs`; or gone with the container, or the boot of this machine, that it was started in."""
    engine = identity_from_row(run.process)
    if engine is None:
        return False
    gone_elsewhere = not is_local(engine) and liveness(engine, lock_of(run)) is Liveness.GONE
    return bool(run.process.get(MARK)) or gone_elsewhere


def lock_of(run: Run) -> Path:
    """The file that the run's engine locks for as long as it lives."""
    return run.directory / "lock"
