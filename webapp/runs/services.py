"""Everything that changes a run: launching, user requests, names; and `move`, the only function that sets its state.

The functions named `request_*` only store the request in the run's row; the run's supervisor reads it there and passes
it to the engine. Each returns whether the run was in a state that allows the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.dispatch import Signal
from django.utils import timezone

from engine.config import RunConfig, build_config
from engine.errors import CheckpointError
from engine.events import RunStarted, kind_of
from engine.forking import pin_start
from engine.starting_adapter import take_copy
from webapp.adapter_copies import copies_first, copy_of, keep_if
from webapp.audit.services import Actor, record
from webapp.audit.services import who as name_of
from webapp.broker import send_task
from webapp.members.choices import project_for_new
from webapp.runs.lineage import join_lineage, may_start_from
from webapp.runs.models import Run, new_run_id
from webapp.runs.names import generated_name
from webapp.runs.priorities import without_moves
from webapp.runs.quotas import check_launch, check_resume
from webapp.runs.states import (
    SUPERVISED,
    TERMINAL,
    USUAL_CAUSES,
    EndCause,
    Request,
    RunState,
    StopRequester,
    sources_of,
)
from webapp.updates import publish_run
from workers.app import SUPERVISE

if TYPE_CHECKING:
    from webapp.environments.models import EnvironmentVersion
    from webapp.projects.models import Project

RESUMABLE = [RunState.STOPPED, RunState.FAILED, RunState.CRASHED]
STEERABLE = [RunState.STARTING, RunState.RUNNING, RunState.PAUSED, RunState.STALLED, RunState.LOST]
NO_WORKER_YET = "Waiting for a worker"
run_moved = Signal()  # with `run` and `target`, in the transaction of the move


@copies_first
def submit_run(
    *,
    owner: Actor,
    config: RunConfig | dict[str, Any],
    name: str = "",
    preset: str = "",
    environment_version: EnvironmentVersion | None = None,
    cloned_from: Run | None = None,
    action: str = "",
    launched_because: Mapping[str, Any] | None = None,
    pk: str = "",
    priority: int = 0,
    project: Project | None = None,
    adapter_copy: Path | None = None,
) -> Run:
    """Creates a queued run and, after commit, the task that starts it. Raises `ConfigError` for an invalid `config`.
    `webapp.runs.priorities` has the names of priorities.

    The checkpoint or the adapter that it starts from is retained from now on; raises `CheckpointError` if the one no
    longer exists, `ModelError` if the other cannot be copied, and `QuotaExceeded` if the owner's runs use all that they
    may. `adapter_copy` is a copy of that adapter to start from, in place of the adapter as it is now.
    `launched_because` is the reason, for the audit log, where Starboard launches the run on the owner's behalf. A given
    `pk` makes the launch idempotent: a second one raises `IntegrityError`. Without a `project` it is that of the run
    that it is made from, or the owner's usual one; raises `RoleNeeded` if the owner may add to none.
    """
    check_launch(owner.pk if isinstance(owner, User) else None)
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
        priority=priority,
    )
    join_lineage(run)
    source_run = cloned_from or run.forked_from
    run.project = project or project_for_new(owner, like=source_run.project if source_run else None)
    _pin_beginning(checked, run, adapter_copy)
    source: dict[str, Any] = {"of": cloned_from.pk} if cloned_from else {}
    with transaction.atomic():
        run.save(force_insert=True)
        record(
            run, None if launched_because else owner, action or _launch(checked), **source, **(launched_because or {})
        )
        transaction.on_commit(lambda: enqueue(run.pk))
        transaction.on_commit(lambda: publish_run(run.pk, 0))
    return run


def _pin_beginning(config: RunConfig, run: Run, adapter_copy: Path | None) -> None:
    """The run may wait for long, and must start from what it was launched with."""
    source = config.model.start_from.run
    if source and not may_start_from(source):
        raise CheckpointError(
            f"Run {source} does not exist.", remedy="Start from a run of a project that you can read."
        )
    if config.starts_from_adapter and adapter_copy is None:
        adapter_copy = copy_of(config.model.adapter)
    keep_if(run.directory, Run.objects.filter(pk=run.pk).exists)
    pin_start(config, run.directory)
    if config.starts_from_adapter and adapter_copy is not None:
        take_copy(adapter_copy, run.directory)


def run_again(run: Run, user: Actor) -> Run:
    """Launches a new run with the same configuration and seed."""
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
    """Sends the task that supervises the run. Without a broker it waits for `adopt_unsupervised_runs`."""
    return send_task(SUPERVISE, run_id, otherwise=f"Run {run_id} is queued in the database only")


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
    """Moves the run to the state `target` if `MOVES` allows it, by compare-and-set. True if this call moved it.

    `sources` restricts the states to move from. `epoch` and `attempt` are fencing tokens: a writer whose values are
    not those of the row changes nothing. `also` has further columns to write. On success `run` has the new values.
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
        values = {"wait_reason": "", "restart_pause": None, **values}
    if target in TERMINAL:
        values |= {"lease_holder": "", "lease_expires": None}
        values.setdefault("finished_at", timezone.now())
        values.setdefault("end_cause", USUAL_CAUSES[target])
    with transaction.atomic():
        if not allowed.update(**values):
            return False
        for field, value in values.items():
            setattr(run, field, value)
        run_moved.send(sender=Run, run=run, target=target)
    transaction.on_commit(lambda: publish_run(run.pk, run.last_seq))
    return True


@transaction.atomic
def request_stop(run: Run, user: Actor = None) -> bool:
    """Stops the run, a queued one at once. Each repeated request escalates: ask the engine, terminate it, kill it."""
    who = name_of(user)
    # it may have been queued again in the meantime
    done = _stop_queued(run, who) or _stop_live(run, who) or _stop_queued(run, who)
    return record(run, user, "stop", done)


def _stop_queued(run: Run, who: str) -> bool:
    again = " again" if run.attempt > 1 else ""
    why = f"Stopped by {who} before it started{again}."
    by = {"stop_requested_by": StopRequester.USER}
    return move(run, RunState.STOPPED, reason=why, sources=[RunState.QUEUED], also=by)


@transaction.atomic
def request_prune(run: Run, reason: str) -> bool:
    """Ends the run for its sweep, with a checkpoint: shown as pruned, for that reason."""
    why = f"Ended by its sweep. {reason}"
    ended = {"pruned": why, "stop_requested_by": StopRequester.SWEEP}
    done = move(run, RunState.STOPPED, reason=why, sources=[RunState.QUEUED], also=ended)
    if not done:
        live = Run.objects.filter(pk=run.pk, state__in=STEERABLE)
        done = bool(
            live.update(requested=Request.STOP, stop_requests=1, stop_requested_at=timezone.now(), **ended)
        ) and move(run, RunState.STOPPING, reason=why)  # fmt: skip
    return record(run, None, "prune", done and refresh_and_publish(run), reason=reason)


def _stop_live(run: Run, who: str) -> bool:
    live = Run.objects.filter(pk=run.pk, state__in=[*STEERABLE, RunState.STOPPING])
    if not live.update(
        requested=Request.STOP,
        stop_requests=F("stop_requests") + 1,
        stop_requested_at=Coalesce(F("stop_requested_at"), Value(timezone.now())),
        stop_requested_by=StopRequester.USER,
    ):
        return False
    move(run, RunState.STOPPING, reason=f"Stop requested by {who}.")
    return refresh_and_publish(run)


@transaction.atomic
def request_pause(run: Run, user: Actor = None) -> bool:
    updated = Run.objects.filter(pk=run.pk, state__in=STEERABLE, requested=Request.RUN)
    return record(run, user, "pause", bool(updated.update(requested=Request.PAUSE)) and refresh_and_publish(run))


def request_resume(run: Run, user: Actor = None) -> bool:
    """Resumes a paused run where it paused, or an ended one as a new attempt from its newest checkpoint, which raises
    `QuotaExceeded` as launching does."""
    if run.state in RESUMABLE and not run.imported_from:
        check_resume(run, user)
        with transaction.atomic():
            return record(run, user, "resume", resume_ended(run))
    updated = Run.objects.filter(pk=run.pk, state__in=STEERABLE, requested=Request.PAUSE)
    with transaction.atomic():
        return record(run, user, "resume", bool(updated.update(requested=Request.RUN)) and refresh_and_publish(run))


def request_start_over(run: Run, user: Actor = None) -> bool:
    """Queues a run that has no good checkpoint left, to begin again at step 0. What it recorded is kept, as superseded.
    Raises `QuotaExceeded` as launching does."""
    if run.state != RunState.FAILED or run.end_cause != EndCause.NO_GOOD_CHECKPOINT:
        return False
    check_resume(run, user)
    with transaction.atomic():
        return record(run, user, "start_over", resume_ended(run, start_over=True))


@transaction.atomic
def request_checkpoint(run: Run, user: Actor = None) -> bool:
    updated = Run.objects.filter(pk=run.pk, state__in=STEERABLE)
    return record(
        run,
        user,
        "checkpoint",
        bool(updated.update(checkpoint_requests=F("checkpoint_requests") + 1)) and refresh_and_publish(run),
    )


def resume_ended(run: Run, *, priority: int | None = None, start_over: bool = False) -> bool:
    """Queues a stopped, failed or crashed run again as its next attempt; by default with the priority it was launched
    with."""
    again = without_moves(run.priority) if priority is None else priority
    resumed = move(
        run,
        RunState.QUEUED,
        attempt=run.attempt,
        also={
            **_next_attempt(run.attempt + 1, queued_at=timezone.now()),
            "priority": again,
            "start_over": start_over,
        },
    )
    if resumed:
        transaction.on_commit(lambda: enqueue(run.pk))
        run.refresh_from_db()
    return resumed


def queue_again(run: Run, *, reason: str, epoch: int, also: Mapping[str, Any] | None = None) -> bool:
    """Queues a live run whose engine has ended as its next attempt; a paused run stays paused.

    `also` has further columns to write.
    """
    values = {**_next_attempt(run.attempt + 1, queued_at=run.queued_at), "requested": run.requested}
    values |= {"lease_holder": "", "lease_expires": None, "start_over": not _has_begun(run) and run.start_over}
    values |= also or {}
    queued = move(
        run, RunState.QUEUED, reason=reason, sources=SUPERVISED, epoch=epoch, attempt=run.attempt, also=values
    )
    if queued:
        transaction.on_commit(lambda: enqueue(run.pk))
    return queued


@transaction.atomic
def rename(run: Run, name: str, user: Actor = None) -> bool:
    """Renames the run; False if the name is empty. Names are truncated to 80 characters, without NUL, which PostgreSQL
    cannot store."""
    if not (new := name.replace("\0", "").strip()[:80]):
        return False
    old = run.name
    Run.objects.filter(pk=run.pk).update(name=new)
    run.name = new
    run.list_again()
    return record(run, user, "rename", refresh_and_publish(run), changes={"name": {"old": old, "new": new}})


@transaction.atomic
def archive(run: Run, user: Actor = None) -> bool:
    """Hides an ended run from the lists. Nothing is deleted."""
    ended = Run.objects.filter(pk=run.pk, state__in=TERMINAL, archived_at=None)
    return record(run, user, "archive", bool(ended.update(archived_at=timezone.now())) and refresh_and_publish(run))


@transaction.atomic
def unarchive(run: Run, user: Actor = None) -> bool:
    restored = bool(Run.objects.filter(pk=run.pk).update(archived_at=None)) and refresh_and_publish(run)
    return record(run, user, "unarchive", restored)


def refresh_and_publish(run: Run) -> bool:
    """Reloads the row and, after commit, notifies the open pages. Always True, so that a request can end with it."""
    run.refresh_from_db()
    transaction.on_commit(lambda: publish_run(run.pk, run.last_seq))
    return True


def _has_begun(run: Run) -> bool:
    """Whether its newest attempt has reported that it started."""
    return run.events.filter(kind=kind_of(RunStarted), attempt=run.attempt).exists()


def _next_attempt(attempt: int, *, queued_at: datetime) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "queued_at": queued_at,
        "requested": Request.RUN,
        "stop_requests": 0,
        "stop_requested_at": None,
        "stop_requested_by": "",
        "end_cause": "",
        "start_over": False,
        "pruned": "",
        "preempted": "",
        "process": {},
        "stop_proof": {},
        "finished_at": None,
        "archived_at": None,
        "restart_pause": None,
        "wait_reason": NO_WORKER_YET,
    }


def _unused_name() -> str:
    name = generated_name()
    while Run.objects.filter(name=name).exists():
        name = generated_name()
    return name
