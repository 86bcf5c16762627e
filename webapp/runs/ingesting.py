"""Runs that are trained elsewhere: their lines become events in a file, as an engine writes them, which a worker reads.

The row of a run's ingestion is locked while events are appended. If the transaction is rolled back after that, the same
lines are appended again with the same `seq`, and the worker takes each once.
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

from engine.events import Event, RunFailed, RunFinished, RunStarted
from engine.foreign.metric_lines import Batch, Position, read_batch
from webapp.audit.services import record
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
    owner: User, *, source: str, name: str, environment: str, model: str, steps: int, config: dict[str, Any]
) -> Run:
    """A run that reports from now on. `config` is kept as it is sent; `steps` is 0 if their number is not known."""
    run = Run(
        name=name.strip() or generated_name(),
        preset=PRESET,
        imported_from=source,
        owner=owner,
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
        _append(ingestion, [started])
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
        batch = read_batch(lines, _position(ingestion), now=time.time())
        _append(ingestion, batch.events)
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
        _append(ingestion, [ended])
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


def _append(ingestion: Ingestion, events: Iterable[Event]) -> None:
    """To the file of events, after a line that a full disk may have cut off."""
    lines = []
    for event in events:
        ingestion.written_seq += 1
        recorded = event.stamped(seq=ingestion.written_seq, time=event.time, attempt=1, epoch=0)
        lines.append(recorded.model_dump_json())
    if not lines:
        return
    directory = ingestion.run.directory
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "events.jsonl").open("ab+") as file:
        cut_off = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
        file.write((("\n" if cut_off else "") + "\n".join(lines) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())
