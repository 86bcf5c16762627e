"""Engine events as rows, not yet saved: what each class of event becomes. `bridge` writes them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, assert_never

from engine.events import (
    MACHINES,
    AlertRaised,
    CheckpointEvaluated,
    CheckpointSaved,
    ClusterReleased,
    EvaluationCompleted,
    Event,
    GroupsFiltered,
    HeldOutResult,
    PhaseChanged,
    ProblemsPlayed,
    RunFailed,
    RunFinished,
    RunStarted,
    SettingsChanged,
    StepCompleted,
    TrajectoriesRecorded,
    TrajectoriesRemoved,
    VerdictUpdated,
)
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Alert, Checkpoint, Run, RunEvent, StepGroups, StepMetrics, SupersededStep
from webapp.trajectories.models import LostTrajectory, Trajectory, TrajectoryText
from workers.trajectory_rows import read_trajectory_file

log = logging.getLogger(__name__)

BEFORE_ALL_STEPS = -1
LONGEST_WAIT_REASON = 200  # characters of the column
# columns of tables that are fields of an event
STEP_FIELDS = ("seq", "attempt", "epoch", "time", "tokens", "seconds", "skipped", "metrics")
GROUP_FIELDS = ("seq", "attempt", "threshold", "scores", "kept")
GROUP_DETAIL = ("tags", "groups", "environments", "seeds", "returns", "stds", "filter")
EVALUATION_KEYS = ("step", "environment", "final", "requested")
EVALUATION_VALUES = (
    "time", "episodes", "successes", "success", "low", "high", "mean_return", "faults", "problems", "trained_on",
    "first_seed", "temperature",
)  # fmt: skip
EVALUATION_FIELDS = ("step", "environment", *EVALUATION_VALUES)
CHECKPOINT_FIELDS = ("step", "path", "bytes", "reason", "time")


EvaluationKey = tuple[int, str, bool, bool]  # the values of `EVALUATION_KEYS`


@dataclass(slots=True)
class Rows:
    """The changes of a chunk of events. `cuts` has an entry for each attempt that continues from an earlier step, in
    order: that step, above which stored rows of earlier attempts no longer count, and the attempt."""

    run: Run
    spared: frozenset[str] = frozenset()  # trajectory files whose rows stay as they are
    events: list[RunEvent] = field(default_factory=list)
    steps: dict[int, StepMetrics] = field(default_factory=dict)
    superseded: list[SupersededStep] = field(default_factory=list)
    groups: dict[int, StepGroups] = field(default_factory=dict)
    trajectories: dict[str, list[Trajectory]] = field(default_factory=dict)  # by file
    removed: set[str] = field(default_factory=set)  # files that retention removed
    texts: dict[str, dict[int, TrajectoryText]] = field(default_factory=dict)  # by file and offset
    lost: dict[str, list[LostTrajectory]] = field(default_factory=dict)  # by file
    evaluations: dict[EvaluationKey, Evaluation] = field(default_factory=dict)
    played: dict[EvaluationKey, ProblemsPlayed] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)  # of the run's own row

    def add(self, event: Event) -> None:
        self.fields |= {"last_seq": event.seq, "last_progress": moment(event.time)}
        if _has_event_row(event):
            self.events.append(RunEvent.of(self.run, event))
        match event:
            case RunStarted():
                self._start(event)
            case PhaseChanged():
                self.fields |= {"phase": event.phase, "wait_reason": event.detail[:LONGEST_WAIT_REASON]}
            case StepCompleted():
                self._complete_step(event)
            case GroupsFiltered():
                self.groups[event.step] = _groups(self.run, event)
            case TrajectoriesRecorded():
                self._record_trajectories(event)
            case TrajectoriesRemoved():
                self._remove_trajectories(event)
            case EvaluationCompleted():
                self._add_evaluation(event, final=event.final)
            case CheckpointEvaluated():
                self._add_evaluation(event, requested=True)
            case ProblemsPlayed() if event.problems:
                self.played[event.step, event.environment, event.final, event.requested] = event
            case CheckpointSaved():
                values = {name: getattr(event, name) for name in CHECKPOINT_FIELDS}
                self.checkpoints[event.path] = Checkpoint(run=self.run, **values)
            case AlertRaised():
                self.alerts.append(Alert.of(self.run, event))
            case VerdictUpdated():
                self.fields["verdict"] = event.verdict.model_dump(mode="json")
            case ProblemsPlayed() | SettingsChanged() | ClusterReleased() | RunFinished() | RunFailed():
                pass  # stored as event rows only
            case _:
                assert_never(event)

    def _add_evaluation(self, event: HeldOutResult, *, final: bool = False, requested: bool = False) -> None:
        values = {name: getattr(event, name) for name in EVALUATION_FIELDS}
        row = Evaluation(run=self.run, final=final, requested=requested, **values)
        self.evaluations[row.step, row.environment, final, requested] = row

    def _start(self, event: RunStarted) -> None:
        if event.attempt > 1:
            self.fields["verdict"] = {}  # the engine reports the one on the steps that still count
            self._supersede_above(event.resumed_from, by=event.attempt)
        self.fields["total_steps"] = event.total_steps
        if self.run.started_at is None:
            self.fields.setdefault("started_at", moment(event.time))

    def _supersede_above(self, resumed_from: int | None, *, by: int) -> None:
        """What earlier attempts reported above the checkpoint no longer counts; with none, everything they
        reported. Their steps and trajectories are kept as superseded."""
        kept = BEFORE_ALL_STEPS if resumed_from is None else resumed_from
        self.superseded += [SupersededStep.of(row, by=by) for step, row in self.steps.items() if step > kept]
        self.steps = {step: row for step, row in self.steps.items() if step <= kept}
        self.groups = {step: row for step, row in self.groups.items() if step <= kept}
        for path, members in self.trajectories.items():
            for row in members:
                row.superseded |= row.step > kept
            self.lost[path] = [lost for lost in self.lost[path] if lost.step <= kept]
        self.evaluations = {key: row for key, row in self.evaluations.items() if row.step <= kept and not row.final}
        self.played = {key: event for key, event in self.played.items() if event.step <= kept and not event.final}
        self.alerts = [alert for alert in self.alerts if alert.step <= kept or alert.rule == MACHINES]
        self.fields["step"] = max(kept, 0)
        self.cuts.append((kept, by))

    def _complete_step(self, event: StepCompleted) -> None:
        values = {name: getattr(event, name) for name in STEP_FIELDS}
        self.steps[event.step] = StepMetrics(run=self.run, step=event.step, **values)
        self.fields |= {name: getattr(event, name) for name in ("step", "tokens", "seconds", "metrics")}

    def _record_trajectories(self, event: TrajectoriesRecorded) -> None:
        path = event.path
        if path in self.spared:
            return
        self.removed.discard(path)
        found = read_trajectory_file(self.run, event)
        self.trajectories[path], self.texts[path], self.lost[path] = found.trajectories, found.texts, found.lost
        if found.lost:
            count, why = sum(lost.count for lost in found.lost), found.lost[0].why
            log.warning("Run %s: %d trajectories of %s are lost: %s", self.run.pk, count, path, why)

    def _remove_trajectories(self, event: TrajectoriesRemoved) -> None:
        """By the run's retention: nothing of them is lost."""
        self.removed |= set(event.paths)
        for path in self.lost.keys() & self.removed:
            self.lost[path] = []


def _has_event_row(event: Event) -> bool:
    """Steps, groups and outcomes of evaluations have tables of their own. A verdict has a row where its label begins;
    the run has the newest."""
    match event:
        case StepCompleted() | GroupsFiltered() | ProblemsPlayed():
            return False
        case VerdictUpdated():
            return event.verdict.since == event.step
        case _:
            return True


def _groups(run: Run, event: GroupsFiltered) -> StepGroups:
    return StepGroups(
        run=run,
        step=event.step,
        detail={name: getattr(event, name) for name in GROUP_DETAIL},
        **{name: getattr(event, name) for name in GROUP_FIELDS},
    )


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
