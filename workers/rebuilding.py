"""The rows of a run anew from its `events.jsonl`, but for those that its files can no longer give.

Of trajectories that the run's retention removed the events tell how many there were, and no file tells more. The rows
that the database still has of them stay as they are, if by the events it is they that were removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from webapp.runs.models import Alert, Checkpoint, Run, RunEvent
from webapp.trajectories.models import Trajectory
from workers.bridge import Bridge, forget
from workers.lease import seize
from workers.rows import BEFORE_ALL_STEPS

TOLD = ("run_started", "trajectories_recorded", "trajectories_removed")
Recording = dict[str, Any]  # payload of the event that told of a shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Trajectories that the retention of a run removed: those with a row, and those without."""

    kept: int
    gone: int


def rebuild(run_id: str) -> Run:
    """Its supervisor, if any, is fenced off and another adopts the run."""
    epoch = seize(run_id)
    run = Run.objects.get(pk=run_id)
    with transaction.atomic():
        spared, known = _shards_without_a_file(run), run.last_seq
        forget(run, BEFORE_ALL_STEPS, spared)
        for rows in (RunEvent, Checkpoint, Alert):
            rows.objects.filter(run=run).delete()
        blank = {
            "event_offset": 0, "last_seq": 0, "step": 0, "phase": "", "tokens": 0, "seconds": 0.0, "metrics": {},
            "verdict": {}, "started_at": None, "last_progress": None, "lease_holder": "", "lease_expires": None,
        }  # fmt: skip
        Run.objects.filter(pk=run_id, epoch=epoch).update(**blank)
        run.refresh_from_db()
        Bridge(run, epoch, spared=spared).drain(moves=False)
        sound = {shard for shard, told in _removed_shards(run).items() if told["seq"] <= known}
        Trajectory.objects.filter(run=run, shard__in=spared - sound).delete()
    return Run.objects.get(pk=run_id)


def removed_trajectories(run: Run) -> Removed:
    recorded = sum(told["count"] for told in _removed_shards(run).values())
    kept = Trajectory.objects.filter(run=run, removed=True).count()
    return Removed(kept=kept, gone=max(0, recorded - kept))


def _shards_without_a_file(run: Run) -> frozenset[str]:
    """Shards of removed trajectories; one that was brought back is read again."""
    removed = Trajectory.objects.filter(run=run, removed=True).order_by().values_list("shard", flat=True).distinct()
    return frozenset(shard for shard in removed if not (run.directory / shard).exists())


def _removed_shards(run: Run) -> dict[str, Recording]:
    """By the events: shards that still count and are no more, each with its newest recording."""
    recorded: dict[str, Recording] = {}
    removed: set[str] = set()
    for told in run.events.filter(kind__in=TOLD).order_by("seq").values_list("payload", flat=True):
        if told["kind"] == "trajectories_recorded":
            recorded[told["path"]] = told
            removed.discard(told["path"])
        elif told["kind"] == "trajectories_removed":
            removed |= set(told["paths"])
        elif told["attempt"] > 1:
            step = told["resumed_from"] if told["resumed_from"] is not None else BEFORE_ALL_STEPS
            recorded = {shard: one for shard, one in recorded.items() if one["step"] <= step}
    return {shard: recorded[shard] for shard in removed & recorded.keys()}
