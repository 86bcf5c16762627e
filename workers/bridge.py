"""Writes events into rows. Each chunk is one transaction that also advances the run's offset, guarded by the epoch.

So an event is in the rows exactly if the offset is past it, whichever process crashed when, and the rows can be rebuilt
from `events.jsonl` (`rebuilding`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.db import InterfaceError, OperationalError, transaction

from engine.events import MACHINES, AlertRaised, Event, PhaseChanged, RunStarted, StepCompleted, kind_of
from webapp.alerts.actions import record_actions
from webapp.alerts.deliveries import plan
from webapp.evaluations.models import Evaluation
from webapp.evaluations.outcomes import save_outcomes
from webapp.runs.metric_ranges import Ranges, extended, measure_again, ranges_of, save_ranges
from webapp.runs.models import Alert, Checkpoint, Ingestion, Run, RunEvent, StepGroups, StepMetrics, SupersededStep
from webapp.runs.services import move
from webapp.runs.states import Request, RunState
from webapp.trajectories.models import LostTrajectory, Trajectory, TrajectoryText
from webapp.updates import publish_run
from workers.ingestion import of_this_worker
from workers.lease import Fenced
from workers.record_problems import gone, is_gone, late_in, lines_refused_at_end, problems_in, save_problems
from workers.rows import BEFORE_ALL_STEPS, EVALUATION_KEYS, EVALUATION_VALUES, GROUP_FIELDS, STEP_FIELDS, Rows
from workers.tail import CHUNK_BYTES, Chunk, read_chunk

INSERT_BATCH = 500
SHORT_CHUNK = 1 << 18  # bytes, where something else is to be done after each
OUTAGES = (OperationalError, InterfaceError, OSError)  # of the database or the disk: they pass

log = logging.getLogger(__name__)


class Bridge:
    """Keeps the rows of one run up to date with its file. Created at each take-over, with the epoch of that take-over.

    The rows of the trajectory files in `spared` stay as they are, whatever the events say of them.
    """

    def __init__(self, run: Run, epoch: int, *, spared: frozenset[str] = frozenset()) -> None:
        self.run = run
        self.epoch = epoch
        self.spared = spared
        self.attempt = newest_attempt(run)
        self.path = run.directory / "events.jsonl"
        self.names = set(run.metric_names.values_list("name", flat=True))
        self.ranges = ranges_of(run)
        self.reported_gone = False

    def has_unread_events(self) -> bool:
        """Whether the file is longer, or shorter, than what was read."""
        try:
            return self.path.stat().st_size != self.run.event_offset
        except OSError:
            return False

    def drain(
        self,
        *,
        moves: bool = True,
        notifies: bool | None = None,
        between: Callable[[], object] | None = None,
        stops: Callable[[], bool] | None = None,
    ) -> bool:
        """Writes all complete lines of the file into rows; True if there were any. `Fenced` if the run is not ours.

        `moves`: the run moves to the state that its events show. `notifies`: people are notified of its alerts; by
        default with `moves`. `between` is called after each chunk, which are short then. So is `stops`: once it is
        true, the rest is left to another call.
        """
        advanced = False
        limit = SHORT_CHUNK if between or stops else CHUNK_BYTES
        while (chunk := self._next_chunk(limit)).end != self.run.event_offset or chunk.replaced:
            self.ingest(chunk, moves=moves, notifies=moves if notifies is None else notifies)
            advanced = True
            if between is not None:
                between()
            if stops is not None and stops():
                return advanced
        if self.run.event_offset and not self.reported_gone and is_gone(self.path):
            self.reported_gone = True
            save_problems(self.run, [gone(self.run)], notifies=moves if notifies is None else notifies)
        return advanced

    def _next_chunk(self, limit: int) -> Chunk:
        """Of a run from elsewhere only what was confirmed to its sender."""
        offset, tail = self.run.event_offset, self.run.event_tail
        confirmed = Ingestion.objects.filter(run=self.run).values_list("written_bytes", flat=True).first()
        if confirmed is None:
            return read_chunk(self.path, offset, limit, tail=tail)
        if confirmed <= offset:
            return Chunk(lines=[], start=offset, end=offset)
        return read_chunk(self.path, offset, min(limit, confirmed - offset), tail=tail)

    def ingest(self, chunk: Chunk, *, moves: bool = True, notifies: bool = True) -> None:
        """Stores a chunk. An event that the database does not take is found by halves, and kept as a problem of the
        record; all others are stored."""
        try:
            self._store(chunk, moves=moves, notifies=notifies)
        except (Fenced, *OUTAGES):
            raise
        except Exception:
            if len(chunk.lines) > 1:
                for half in chunk.halves():
                    self.ingest(half, moves=moves, notifies=notifies)
                return
            if not chunk.events:
                raise
            self._store_or_refuse(chunk, moves=moves, notifies=notifies)

    def _store_or_refuse(self, chunk: Chunk, *, moves: bool, notifies: bool) -> None:
        """One event, again: what was no fault of it, such as a session that PostgreSQL ended, does not come twice."""
        try:
            self._store(chunk, moves=moves, notifies=notifies)
        except (Fenced, *OUTAGES):
            raise
        except Exception as error:
            log.exception("Run %s: event %d cannot be stored", self.run.pk, chunk.events[0].seq)
            reason = f"The database rejected it: {type(error).__name__}: {error}"
            self._store(chunk.refused(reason), moves=moves, notifies=notifies)

    def _store(self, chunk: Chunk, *, moves: bool, notifies: bool) -> None:
        """State in memory changes only after the commit: a chunk that was rolled back is read again."""
        fresh = self._unseen(chunk.events)
        rows = Rows(self.run, spared=self.spared)
        for event in fresh:
            rows.add(event)
        refused = lines_refused_at_end(chunk, self.run.lines_refused)
        fields = {**rows.fields, "event_offset": chunk.end, "event_tail": chunk.tail, "lines_refused": refused}
        problems = [*problems_in(self.run, chunk), *late_in(self.run, chunk, self.attempt)]
        names = {name for row in rows.steps.values() for name in row.metrics} - self.names
        with transaction.atomic():
            self._advance(fields)
            _save(rows)
            save_problems(self.run, problems, notifies=notifies)
            ranges = self._measure(rows, names)
            if notifies:
                plan(self.run, rows.alerts)
            if moves:
                record_actions(self.run, rows.alerts)
                _move_state(self.run, fresh, self.epoch)
            transaction.on_commit(lambda: publish_run(self.run.pk, fields.get("last_seq", self.run.last_seq)))
        for name, value in fields.items():
            setattr(self.run, name, value)
        of_this_worker.stored(len(fresh))
        self.names |= names
        self.ranges |= ranges
        self.attempt = fresh[-1].attempt if fresh else self.attempt

    def _measure(self, rows: Rows, names: set[str]) -> Ranges:
        """Writes what the list of runs shows of metrics; returns what is new."""
        if rows.cuts:
            save_ranges(self.run, {}, names)
            return measure_again(self.run)
        ranges = extended(self.ranges, (row.metrics for _, row in sorted(rows.steps.items())))
        save_ranges(self.run, ranges, names)
        return ranges

    def _unseen(self, events: list[Event]) -> list[Event]:
        """Events not seen before, without those of an engine that a newer attempt has replaced."""
        fresh: list[Event] = []
        seq, attempt = self.run.last_seq, self.attempt
        for event in events:
            if event.seq > seq and event.attempt >= attempt:
                fresh.append(event)
                seq, attempt = event.seq, event.attempt
        return fresh

    def _advance(self, fields: dict[str, Any]) -> None:
        ours = Run.objects.filter(pk=self.run.pk, epoch=self.epoch, event_offset=self.run.event_offset)
        if not ours.update(**fields):
            raise Fenced(self.run.pk)


def newest_attempt(run: Run) -> int:
    """By the rows of its events."""
    started = run.events.filter(kind=kind_of(RunStarted)).order_by("-seq")
    return started.values_list("attempt", flat=True).first() or 1


def _save(rows: Rows) -> None:
    for step, attempt in rows.cuts:
        supersede(rows.run, step, by=attempt)
    SupersededStep.objects.bulk_create(rows.superseded, INSERT_BATCH, ignore_conflicts=True)
    RunEvent.objects.bulk_create(rows.events, INSERT_BATCH, ignore_conflicts=True)
    StepMetrics.objects.bulk_create(
        rows.steps.values(),
        INSERT_BATCH,
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=STEP_FIELDS,
    )
    StepGroups.objects.bulk_create(
        rows.groups.values(),
        INSERT_BATCH,
        update_conflicts=True,
        unique_fields=["run", "step"],
        update_fields=[*GROUP_FIELDS, "detail"],
    )
    save_trajectories(rows)
    Evaluation.objects.bulk_create(
        rows.evaluations.values(),
        INSERT_BATCH,
        update_conflicts=True,
        unique_fields=["run", *EVALUATION_KEYS],
        update_fields=EVALUATION_VALUES,
    )
    for played in rows.played.values():
        save_outcomes(rows.run, played)
    Alert.objects.bulk_create(rows.alerts, INSERT_BATCH, ignore_conflicts=True)
    _save_checkpoints(rows)


def save_trajectories(rows: Rows) -> None:
    """Replaces the trajectories of whole files, each with its text. An evaluation that an attempt repeats supersedes
    that of an earlier one."""
    for file, trajectories in rows.trajectories.items():
        Trajectory.all_attempts.filter(run=rows.run, file=file).delete()
        for split, step, attempt in {(row.split, row.step, row.attempt) for row in trajectories if not row.superseded}:
            repeated = Trajectory.objects.filter(run=rows.run, split=split, step=step, attempt__lt=attempt)
            repeated.update(superseded=True)
        Trajectory.objects.bulk_create(trajectories, INSERT_BATCH, ignore_conflicts=True)
        saved = Trajectory.all_attempts.filter(run=rows.run, file=file).values_list("offset", "pk")
        texts = rows.texts[file]
        for offset, pk in saved:
            texts[offset].trajectory_id = pk
        TrajectoryText.objects.bulk_create([texts[offset] for offset, _ in saved], INSERT_BATCH)
        LostTrajectory.objects.filter(run=rows.run, file=file).delete()
        LostTrajectory.objects.bulk_create(rows.lost[file], INSERT_BATCH)
    if rows.removed:
        Trajectory.all_attempts.filter(run=rows.run, file__in=rows.removed).update(removed=True)
        LostTrajectory.objects.filter(run=rows.run, file__in=rows.removed).delete()


def _save_checkpoints(rows: Rows) -> None:
    if not rows.checkpoints:
        return
    Checkpoint.objects.bulk_create(
        rows.checkpoints.values(),
        INSERT_BATCH,
        update_conflicts=True,
        unique_fields=["run", "path"],
        update_fields=["step", "bytes", "reason", "time"],
    )
    drop_lost_checkpoints(rows.run)


def drop_lost_checkpoints(run: Run) -> int:
    """Deletes the rows of checkpoints that the engine has pruned; returns their number."""
    lost = [c.pk for c in run.checkpoints.all() if not (run.directory / c.path).exists()]
    return Checkpoint.objects.filter(pk__in=lost).delete()[0] if lost else 0


def supersede(run: Run, step: int, *, by: int) -> None:
    """The attempt `by` continues from `step`: what earlier ones reported above it, and any final evaluation, no longer
    counts. Steps and trajectories are kept as superseded; the rest is in the record of events only."""
    replaced = StepMetrics.objects.filter(run=run, step__gt=step)
    SupersededStep.objects.bulk_create(
        [SupersededStep.of(row, by=by) for row in replaced], INSERT_BATCH, ignore_conflicts=True
    )
    replaced.delete()
    Trajectory.objects.filter(run=run, step__gt=step, attempt__lt=by).update(superseded=True)
    _drop_above(run, step)


def forget_all(run: Run, spared: frozenset[str]) -> None:
    """Deletes the rows of what was reported, to be read again; not those of trajectories of the files `spared`."""
    StepMetrics.objects.filter(run=run).delete()
    SupersededStep.objects.filter(run=run).delete()
    Trajectory.all_attempts.filter(run=run).exclude(file__in=spared).delete()
    _drop_above(run, BEFORE_ALL_STEPS)


def _drop_above(run: Run, step: int) -> None:
    StepGroups.objects.filter(run=run, step__gt=step).delete()
    LostTrajectory.objects.filter(run=run, step__gt=step).delete()
    Evaluation.objects.filter(run=run, step__gt=step).delete()
    Evaluation.objects.filter(run=run, final=True).delete()
    Alert.objects.filter(run=run, step__gt=step).exclude(rule=MACHINES).delete()


def _move_state(run: Run, events: list[Event], epoch: int) -> None:
    """The state that the newest events show. The end is not moved here: that needs proof that no process is left."""
    moves = (found for event in reversed(events) if (found := _state_shown_by(event)) is not None)
    if (newest := next(moves, None)) is not None:
        state, sources = newest
        move(run, state, sources=sources, epoch=epoch, reason=_reason(run, state))
    if _paused_itself(events):
        # as if the user had requested it, so that the user can resume the run
        Run.objects.filter(pk=run.pk, epoch=epoch, requested=Request.RUN).update(requested=Request.PAUSE)


def _paused_itself(events: list[Event]) -> bool:
    """Whether an alert paused the engine after the newest of its steps; one that made more steps has been resumed."""
    newest = max((index for index, event in enumerate(events) if isinstance(event, StepCompleted)), default=-1)
    return any(isinstance(event, AlertRaised) and event.action == "pause" for event in events[newest + 1 :])


LIVE_AGAIN = [RunState.STARTING, RunState.STALLED, RunState.LOST]


def _state_shown_by(event: Event) -> tuple[RunState, list[RunState]] | None:
    """The state that an event shows, and the states that a run enters it from."""
    match event:
        case RunStarted():
            return RunState.RUNNING, LIVE_AGAIN
        case PhaseChanged(phase="paused"):
            return RunState.PAUSED, [RunState.RUNNING, *LIVE_AGAIN]
        case PhaseChanged(phase="loading"):
            return RunState.STARTING, [RunState.STALLED, RunState.LOST]
        case PhaseChanged() | StepCompleted():
            return RunState.RUNNING, [RunState.PAUSED, *LIVE_AGAIN]
        case _:
            return None


def _reason(run: Run, state: RunState) -> str:
    return "Paused on request." if state == RunState.PAUSED and run.requested == Request.PAUSE else ""
