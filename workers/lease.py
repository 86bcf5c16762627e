"""The lease of a run: which worker supervises it. Every take-over increments `epoch`, and older epochs write
nothing.

A lease expires by the clock of the worker that would take it (`sightings`), so that no jump of a wall clock, and no
difference between two, ends or prolongs one. `lease_expires` is what pages show, and changes with each renewal.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import timedelta

from django.db import InterfaceError, OperationalError, connection
from django.db.models import F, Q
from django.utils import timezone

from webapp.runs.models import Run
from webapp.runs.states import SUPERVISED
from workers.limits import Limits, current_limits
from workers.process import host, read_stat
from workers.sightings import leases

log = logging.getLogger(__name__)


class Fenced(Exception):
    """Another supervisor has taken over the run: write nothing more and return."""


def this_holder() -> str:
    """This worker process by pid and start time, so that others on the machine can see whether it is alive."""
    stat = read_stat(os.getpid())
    start_time = stat.start_time if stat else 0
    return f"{host()} {os.getpid()} {start_time} {threading.get_native_id()}"[-120:]


def holder_is_dead(holder: str) -> bool:
    """True only with proof: a holder on this machine whose process no longer exists."""
    parts = holder.split(" ")
    if len(parts) != 4 or parts[0] != host():
        return False
    stat = read_stat(int(parts[1]))
    return stat is None or stat.state == "Z" or str(stat.start_time) != parts[2]


LIVE = Q(state__in=SUPERVISED)


def take(run_id: str, limits: Limits | None = None, *, among: Q = LIVE) -> int | None:
    """Takes the lease of a live run, or of one `among` others; its new epoch, or None if the run is held or not among
    them."""
    run = Run.objects.filter(among, pk=run_id).first()
    if run is None or not _is_free(run, limits or current_limits()):
        return None
    unchanged = Q(pk=run_id, epoch=run.epoch, lease_expires=run.lease_expires)
    return _take_over(unchanged & among, run.epoch, limits)


def unheld_runs(among: Q = LIVE) -> list[str]:
    """Runs without a holder, or whose holder is dead or has not renewed its lease."""
    limits = current_limits()
    runs = Run.objects.filter(among).only("pk", "epoch", "lease_holder", "lease_expires")
    return [run.pk for run in runs if _is_free(run, limits)]


def _is_free(run: Run, limits: Limits) -> bool:
    if run.lease_expires is None or holder_is_dead(run.lease_holder):
        return True
    return leases.see(run.pk, (run.epoch, run.lease_expires), limits.lease)


def seize(run_id: str, limits: Limits | None = None) -> int:
    """Takes the lease from any holder, in any state of the run; the holder is fenced off. For repairs."""
    while True:
        epoch = Run.objects.values_list("epoch", flat=True).get(pk=run_id)
        taken = _take_over(Q(pk=run_id, epoch=epoch), epoch, limits)
        if taken is not None:
            return taken


def _take_over(condition: Q, epoch: int, limits: Limits | None) -> int | None:
    taken = Run.objects.filter(condition).update(
        epoch=F("epoch") + 1, lease_holder=this_holder(), lease_expires=_expiry(limits)
    )
    return epoch + 1 if taken else None


def renew(run_id: str, epoch: int, limits: Limits | None = None) -> None:
    """Extends the lease; `Fenced` if it is no longer ours, or was released."""
    ours = Run.objects.filter(pk=run_id, epoch=epoch, lease_expires__isnull=False)
    if not ours.update(lease_expires=_expiry(limits)):
        raise Fenced(run_id)


@contextmanager
def renewed(run_id: str, epoch: int, limits: Limits) -> Iterator[None]:
    """Renews the lease in a thread while the block runs: reading a trajectory file may take longer than a lease."""
    done = threading.Event()
    keep = (_keep, run_id, epoch, limits, done)
    renewal = threading.Thread(target=copy_context().run, args=keep, name=f"lease {run_id}", daemon=True)
    renewal.start()
    try:
        yield
    finally:
        done.set()
        renewal.join()


def _keep(run_id: str, epoch: int, limits: Limits, done: threading.Event) -> None:
    while not done.wait(limits.renew):
        try:
            renew(run_id, epoch, limits)
        except Fenced:
            return  # the supervisor finds out at its next write
        except (OperationalError, InterfaceError) as error:
            log.warning("The lease of run %s cannot be renewed now: %s", run_id, error)
        finally:
            connection.close()


def release(run_id: str, epoch: int) -> None:
    """Lets the next worker take the run at once."""
    Run.objects.filter(pk=run_id, epoch=epoch).update(lease_holder="", lease_expires=None)


def _expiry(limits: Limits | None) -> object:
    return timezone.now() + timedelta(seconds=(limits or current_limits()).lease)
