"""Everything that changes a run from the web: launch, requests and names; and `move`, the one door of its state.

The functions named `request_*` only write what the user asks for. The run's supervisor reads it from the row and
tells the engine. Each returns whether the run was in a state that allows it.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from kombu.exceptions import OperationalError

from engine.config import RunConfig, build_config
from engine.errors import CheckpointError
from engine.forking import pin_start
from webapp.audit.services import Actor, record
from webapp.audit.services import who as name_of
from webapp.runs.models import Run, new_run_id
from webapp.runs.names import memorable_name
from webapp.runs.states import TERMINAL, Request, RunState, sources_of
from webapp.updates import publish_run
from workers.app import SUPERVISE, app

if TYPE_CHECKING:
    from webapp.environments.models import EnvironmentVersion

log = logging.getLogger(__name__)

RESUMABLE = [RunState.STOPPED, RunState.FAILED, RunState.CRASHED]
STEERABLE = [RunState.STARTING, RunState.RUNNING, RunState.PAUSED, RunState.STALLED, RunState.LOST]
NO_WORKER_YET = "Waits for a worker to take it"


def submit_run(
    *,
    owner: Actor,
    config: RunConfig | dict[str, Any],
    name: str = "",
    preset: str = "",
    environment_version: EnvironmentVersion | None = None,
    cloned_from: Run | None = None,
    action: str = "",
    by_itself: Mapping[str, Any] | None = None,
    pk: str = "",
) -> Run:
    """A queued run, as a row first; the task that takes it is sent after commit. Raises `ConfigError`.

    Of a fork the checkpoint is kept from now on; `CheckpointError` where it is gone. `by_itself` says why where
    Starboard launches it for the owner. With a `pk` of its own it is launched once: `IntegrityError` for another.
    """
    checked = config if isinstance(config, RunConfig) else build_config(config)
    run = Run(
        pk=pk or new_run_id(),
        owner=owner if isinstance(owner, User) else None,
        name=name.strip() or _unused_name(),
        preset=preset or checked.preset,
        environment_version=environment_version,
        cloned_from=cloned_from,
        config=checked.model_dump(mode="json"),
        total_steps=checked.steps,
        wait_reason=NO_WORKER_YET,
    )
    _keep_start(checked, run)
    of: dict[str, Any] = {"of": cloned_from.pk} if cloned_from else {}
    with transaction.atomic():
        run.save(force_insert=True)
        record(run, None if by_itself else owner, action or _launch(checked), **of, **(by_itself or {}))
        transaction.on_commit(lambda: enqueue(run.pk))
        transaction.on_commit(lambda: publish_run(run.pk, 0))
    return run


def _keep_start(config: RunConfig, run: Run) -> None:
    try:
        pin_start(config, run.directory)
    except CheckpointError:
        shutil.rmtree(run.directory, ignore_errors=True)  # of a run that will not be
        raise


def run_again(run: Run, user: Actor) -> Run:
    """Another run of exactly this configuration and seed."""
    return submit_run(
        owner=user,
        config=run.config,
        name=f"{run.name[:74]} again",
        preset=run.preset,
        environment_version=run.environment_version,
        cloned_from=run,
        action="again",
    )


def _launch(config: RunConfig) -> str:
    return "fork" if config.model.start_from.run else "launch"


def enqueue(run_id: str) -> bool:
    """Asks a worker to look at the run. With no broker the row waits: `tend` finds it when there is one again."""
    try:
        app.signature(SUPERVISE, args=[run_id]).apply_async(retry=False)
    except (OperationalError, OSError) as error:
        log.warning("Run %s is queued as a row only, the broker cannot be reached: %s", run_id, error)
        return False
    return True


def move(
    run: Run,
    target: RunState,
    *,
    reason: str = "",
    remedy: str = "",
    sources: Iterable[RunState] | None = None,
    epoch: int | None = None,
    attempt: int | None = None,
    also: Mapping[str, Any] | None = None,
) -> bool:
    """Compare-and-set of the state by `MOVES`; True if this call made the move.

    `sources` narrows the states it may come from. `epoch` and `attempt` fence: a writer that names older ones than
    the row's changes nothing. `also` is written with the state. On success `run` carries the new values.
    """
    allowed = Run.objects.filter(pk=run.pk, state__in=sources_of(target))
    if sources is not None:
        allowed = allowed.filter(state__in=list(sources))
    if epoch is not None:
        allowed = allowed.filter(epoch=epoch)
    if attempt is not None:
        allowed = allowed.filter(attempt=attempt)
    values: dict[str, Any] = {"state": target, "state_reason": reason, "state_remedy": remedy, **(also or {})}
    if target != RunState.QUEUED:
        values = {"wait_reason": "", "restart_at": None, **values}
    if target in TERMINAL:
        values |= {"lease_holder": "", "lease_expires": None}
        values.setdefault("finished_at", timezone.now())
    if not allowed.update(**values):
        return False
    for field, value in values.items():
        setattr(run, field, value)
    transaction.on_commit(lambda: publish_run(run.pk, run.last_seq))
    return True


def request_stop(run: Run, user: Actor = None) -> bool:
    """Stops the run; a queued one at once. Pressed again it goes one stage faster: asked, terminated, killed."""
    who = name_of(user)
    # it may be queued again meanwhile
    done = _stop_queued(run, who) or _stop_live(run, who) or _stop_queued(run, who)
    return record(run, user, "stop", done)


def _stop_queued(run: Run, who: str) -> bool:
    again = " again" if run.attempt > 1 else ""
    return move(run, RunState.STOPPED, reason=f"Stopped before it started{again}, by {who}.", sources=[RunState.QUEUED])


def _stop_live(run: Run, who: str) -> bool:
    live = Run.objects.filter(pk=run.pk, state__in=[*STEERABLE, RunState.STOPPING])
    if not live.update(
        requested=Request.STOP,
        stops_asked=F("stops_asked") + 1,
        stop_asked_at=Coalesce(F("stop_asked_at"), Value(timezone.now())),
    ):
        return False
    move(run, RunState.STOPPING, reason=f"Stop asked for by {who}.")
    return told(run)


def request_pause(run: Run, user: Actor = None) -> bool:
    asked = Run.objects.filter(pk=run.pk, state__in=STEERABLE, requested=Request.RUN)
    return record(run, user, "pause", bool(asked.update(requested=Request.PAUSE)) and told(run))


def request_resume(run: Run, user: Actor = None) -> bool:
    """Goes on: a paused run where it paused, an ended one as a new attempt from its newest checkpoint."""
    if run.state in RESUMABLE:
        return record(run, user, "resume", resume_ended(run))
    asked = Run.objects.filter(pk=run.pk, state__in=STEERABLE, requested=Request.PAUSE)
    return record(run, user, "resume", bool(asked.update(requested=Request.RUN)) and told(run))


def request_checkpoint(run: Run, user: Actor = None) -> bool:
    asked = Run.objects.filter(pk=run.pk, state__in=STEERABLE)
    return record(
        run, user, "checkpoint", bool(asked.update(checkpoints_asked=F("checkpoints_asked") + 1)) and told(run)
    )


def resume_ended(run: Run) -> bool:
    """Queues a stopped, failed or crashed run again as its next attempt."""
    resumed = move(
        run,
        RunState.QUEUED,
        attempt=run.attempt,
        also=_next_attempt(run.attempt + 1, queued_at=timezone.now()),
    )
    if resumed:
        transaction.on_commit(lambda: enqueue(run.pk))
        run.refresh_from_db()
    return resumed


def queue_again(run: Run, *, reason: str, epoch: int, also: Mapping[str, Any] | None = None) -> bool:
    """A live run whose engine has ended waits for its turn as its next attempt; a paused one stays paused.

    `also` is written with the state.
    """
    values = {**_next_attempt(run.attempt + 1, queued_at=run.queued_at), "requested": run.requested}
    values |= {"lease_holder": "", "lease_expires": None, **(also or {})}
    queued = move(run, RunState.QUEUED, reason=reason, epoch=epoch, attempt=run.attempt, also=values)
    if queued:
        transaction.on_commit(lambda: enqueue(run.pk))
    return queued


def rename(run: Run, name: str, user: Actor = None) -> bool:
    """False for an empty name; a longer one than 80 characters is cut."""
    if not (kept := name.strip()[:80]):
        return False
    before = run.name
    Run.objects.filter(pk=run.pk).update(name=kept)
    return record(run, user, "rename", told(run), changes={"name": {"old": before, "new": kept}})


def archive(run: Run, user: Actor = None) -> bool:
    """Takes an ended run out of the lists; nothing is deleted."""
    ended = Run.objects.filter(pk=run.pk, state__in=TERMINAL, archived_at=None)
    return record(run, user, "archive", bool(ended.update(archived_at=timezone.now())) and told(run))


def unarchive(run: Run, user: Actor = None) -> bool:
    back = bool(Run.objects.filter(pk=run.pk).update(archived_at=None)) and told(run)
    return record(run, user, "unarchive", back)


def told(run: Run) -> bool:
    """Reads the row anew and tells the open pages; always True."""
    run.refresh_from_db()
    transaction.on_commit(lambda: publish_run(run.pk, run.last_seq))
    return True


def _next_attempt(attempt: int, *, queued_at: datetime) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "queued_at": queued_at,
        "requested": Request.RUN,
        "stops_asked": 0,
        "stop_asked_at": None,
        "process": {},
        "stop_proof": {},
        "finished_at": None,
        "archived_at": None,
        "restart_at": None,
        "wait_reason": NO_WORKER_YET,
    }


def _unused_name() -> str:
    name = memorable_name()
    while Run.objects.filter(name=name).exists():
        name = memorable_name()
    return name
