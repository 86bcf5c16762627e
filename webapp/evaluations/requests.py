"""Requesting that a worker evaluates a checkpoint of a run on the run's held-out problems."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from kombu.exceptions import OperationalError

from webapp.audit.services import Actor
from webapp.audit.services import record as audit
from webapp.evaluations.models import EvaluationRequest
from webapp.jobs import LIVE, JobState, Refused
from webapp.runs.models import Checkpoint, Run
from webapp.worker_calls import is_alone
from workers.app import app

log = logging.getLogger(__name__)

PING_SECONDS = 1.5
NO_QUEUE = "The queue cannot be reached, so no worker can evaluate. Check that Redis is running, then try again."
NO_WORKER = "No worker answers, so nothing would evaluate the checkpoint. Start one with `python -m workers`."


def submit(run: Run, step: int, user: Actor) -> EvaluationRequest:
    """A queued request; `Refused` with a reason otherwise."""
    if checkpoint_at(run, step) is None:
        raise Refused(_gone(step))
    if reason := why_no_worker():
        raise Refused(reason)
    try:
        with transaction.atomic():
            made = EvaluationRequest.objects.create(run=run, step=step, owner=user if isinstance(user, User) else None)
            audit(run, user, "evaluate", step=step)
            if not made.reserve_checkpoint():
                raise Refused(_gone(step))
            transaction.on_commit(made.enqueue)
    except IntegrityError:
        raise Refused(f"The checkpoint of step {step} is already being evaluated.") from None
    made.publish()
    return made


def _gone(step: int) -> str:
    return (
        f"The checkpoint of step {step} no longer exists. Evaluate one that is listed; checkpoint.keep says how many "
        "are kept."
    )


def checkpoint_at(run: Run, step: int) -> Checkpoint | None:
    """The checkpoint of `step`, if it still exists."""
    found = run.checkpoints.filter(step=step).first()
    return found if found is not None and (run.directory / found.path).is_dir() else None


def why_no_worker() -> str:
    """Why nothing in the queue would be done now; empty if a worker answers."""
    if is_alone():
        return NO_WORKER
    try:
        return "" if app.control.ping(timeout=PING_SECONDS, limit=1) else NO_WORKER
    except (OperationalError, OSError) as error:
        log.warning("Workers cannot be asked: %s", error)
        return NO_QUEUE


@transaction.atomic
def stop(run: Run, step: int, user: Actor = None) -> bool:
    """Stops the one of `step` that is in progress; False if there is none."""
    made = run.evaluation_requests.filter(step=step, state__in=LIVE).first()
    return made is not None and audit(run, user, "stop_evaluation", made.stop(), step=step)


def newest_requests(run: Run) -> list[dict[str, Any]]:
    """The newest of each step, as pages show it; without those that finished, whose results are events."""
    newest = {one.step: one for one in run.evaluation_requests.order_by("pk")}
    return [
        {"step": step, "state": one.state, "message": one.message, "stopping": one.stop_requested}
        for step, one in sorted(newest.items())
        if one.state in (*LIVE, JobState.FAILED)
    ]
