"""Runs that are trained elsewhere: their lines become events in a file, as an engine writes them, which a worker reads.

The row of a run's ingestion is locked while events are appended, and says how many bytes of the file count. What is
beyond them is of a transaction that was rolled back: no worker reads it, and the next lines take its place.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from engine.event_lines import line_of
from engine.events import Event, RunFailed, RunFinished, RunStarted
from engine.foreign.lines import Batch, Position, Sender, read_batch
from engine.glossary.foreign import names_of
from engine.rollout.trajectory_files import write_trajectory_file
from webapp.audit.services import record
from webapp.members.choices import project_for_new
from webapp.projects.models import Project
from webapp.runs.indexing import enqueue_index
from webapp.runs.lineage import join_lineage
from webapp.runs.models import Ingestion, Run
from webapp.runs.names import generated_name
from webapp.runs.services import move
from webapp.runs.states import RunState

PRESET = "elsewhere"


class Ended(Exception):
    """The run has ended and takes no more lines."""


def create(
    owner: User,
    *,
    source: str,
    name: str,
    environment: str,
    model: str,
    steps: int,
    config: dict[str, Any],
    project: Project | None = None,
) -> Run:
    """A run that reports from now on. `config` is kept as it is sent; `steps` is 0 if their number is not known."""
    run = Run(
        name=name.strip() or generated_name(),
        preset=PRESET,
        imported_from=source,
        owner=owner,
        project=project or project_for_new(owner),
        state=RunState.REPORTING,
        total_steps=steps,
        started_at=timezone.now(),
        config={
            "preset": PRESET,
            "steps": steps,
            "environments": [{"tag": environment, "kind": PRESET}],
            "model": {"path": model},
            "reported": config,
        },
    )
    join_lineage(run)
    with transaction.atomic():
        run.save(force_insert=True)
        ingestion = Ingestion.objects.create(run=run, source=source)
        record(run, owner, "ingest", source=source)
        started = RunStarted(
            step=0, time=time.time(), total_steps=steps, pid=0, device="elsewhere", model=model, parameters=0
        )
        append(ingestion, [started])
        ingestion.save()
        transaction.on_commit(lambda: enqueue_index(run.pk))
    return run


def is_elsewhere(run: Run) -> bool:
    """Whether the run is trained elsewhere, so that nothing here can steer, fork or repeat it."""
    return Ingestion.objects.filter(run=run).exists()


def reported_config(run: Run) -> str:
    """The configuration as it was sent."""
    return json.dumps(run.config.get("reported", {}), indent=2, ensure_ascii=False)


def receive(run: Run, lines: Iterable[bytes]) -> Batch:
    """Stores what is new. Raises `Ended` for a run that has ended."""
    with transaction.atomic():
        ingestion = Ingestion.objects.select_for_update().select_related("run").get(run=run)
        if ingestion.run.state != RunState.REPORTING:
            raise Ended(ingestion.run.get_state_display())
        batch = read_batch(lines, _position(ingestion), now=time.time(), sender=_sender(ingestion))
        for file in batch.files:
            write_trajectory_file(run.directory / file.path, file.records)
        append(ingestion, batch.events)
        position = batch.position
        ingestion.received_seq, ingestion.step = position.seq, position.step
        ingestion.metrics, ingestion.tokens = position.metrics, position.tokens
        ingestion.save()
        Run.objects.filter(pk=run.pk).update(last_heartbeat_at=timezone.now())
        if batch.events:
            transaction.on_commit(lambda: enqueue_index(run.pk))
    return batch


def finish(run: Run, user: User, *, succeeded: bool, reason: str) -> bool:
    """Ends a run that reports; False if it has ended before."""
    with transaction.atomic():
        ingestion = Ingestion.objects.select_for_update().get(run=run)
        target = RunState.FINISHED if succeeded else RunState.FAILED
        if not move(run, target, reason=reason, sources=[RunState.REPORTING]):
            return False
        step = max(0, ingestion.step)
        ended: Event = (
            RunFinished(step=step, time=time.time(), outcome="completed", reason=reason)
            if succeeded
            else RunFailed(step=step, time=time.time(), error="Reported", message=reason, remedy="")
        )
        append(ingestion, [ended])
        ingestion.save()
        Run.objects.filter(pk=run.pk, total_steps=0).update(total_steps=step)
        record(run, user, "ingest_end", succeeded=succeeded)
        transaction.on_commit(lambda: enqueue_index(run.pk))
    return True


def _position(ingestion: Ingestion) -> Position:
    return Position(
        seq=ingestion.received_seq,
        step=ingestion.step,
        metrics=ingestion.metrics,
        tokens=ingestion.tokens,
        started_at=ingestion.started_at.timestamp(),
    )


def _sender(ingestion: Ingestion) -> Sender:
    environment = str(ingestion.run.config["environments"][0]["tag"])
    return Sender(environment=environment, names=names_of(ingestion.source))


def append(ingestion: Ingestion, events: Iterable[Event]) -> None:
    """Writes events behind those that count; the caller holds the lock on the row, and saves it."""
    lines = []
    for event in events:
        ingestion.written_seq += 1
        recorded = event.stamped(seq=ingestion.written_seq, time=event.time, attempt=1, epoch=0)
        lines.append(line_of(recorded))
    if not lines:
        return
    directory = ingestion.run.directory
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "events.jsonl"
    path.touch()
    with path.open("r+b") as file:
        file.truncate(ingestion.written_bytes)
        file.seek(ingestion.written_bytes)
        file.write(b"".join(lines))
        file.flush()
        os.fsync(file.fileno())
        ingestion.written_bytes = file.tell()
