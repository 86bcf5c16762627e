"""Engine events as rows, not yet saved. It knows what each kind of event becomes; `bridge` writes it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from engine.events import MACHINES, Event
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Alert, Checkpoint, Run, RunEvent, StepGroups, StepMetrics
from webapp.trajectories.models import LostTrajectory, Trajectory, TrajectoryText
from workers.shard_rows import read_shard

log = logging.getLogger(__name__)

BEFORE_ALL_STEPS = -1
OF_STEPS = frozenset({"step_completed", "groups_filtered"})  # kept in tables of their own
WAIT_WORDS = 200  # characters that the row has room for


@dataclass(slots=True)
class Rows:
    """What a chunk of events changes. `cut` is the step above which earlier rows no longer count, if any."""

    run: Run
    spared: frozenset[str] = frozenset()  # shards whose rows stay as they are
    events: list[RunEvent] = field(default_factory=list)
    steps: dict[int, StepMetrics] = field(default_factory=dict)
    groups: dict[int, StepGroups] = field(default_factory=dict)
    trajectories: dict[str, list[Trajectory]] = field(default_factory=dict)  # by shard
    removed: set[str] = field(default_factory=set)  # shards that are no more
    texts: dict[str, dict[int, TrajectoryText]] = field(default_factory=dict)  # by shard and offset
    lost: dict[str, list[LostTrajectory]] = field(default_factory=dict)  # by shard
    evaluations: dict[tuple[int, str, bool], Evaluation] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    cut: int | None = None
    fields: dict[str, Any] = field(default_factory=dict)  # of the run's own row

    def add(self, event: Event) -> None:
        payload = event.model_dump(mode="json")
        self.fields |= {"last_seq": event.seq, "last_progress": moment(event.time)}
        if event.kind not in OF_STEPS:
            self.events.append(
                RunEvent(
                    run=self.run, seq=event.seq, kind=event.kind, step=event.step, time=event.time, payload=payload
                )
            )
        if (handle := HANDLERS.get(event.kind)) is not None:
            handle(self, payload)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _run_started(rows: Rows, payload: dict[str, Any]) -> None:
    if payload["attempt"] > 1:
        rows.cut = _forget_above(rows, payload["resumed_from"])
    rows.fields["total_steps"] = payload["total_steps"]
    if rows.run.started_at is None:
        rows.fields.setdefault("started_at", moment(payload["time"]))


def _forget_above(rows: Rows, resumed_from: int | None) -> int:
    """Drops what earlier attempts reported above the checkpoint; with none, everything they reported."""
    kept = BEFORE_ALL_STEPS if resumed_from is None else resumed_from
    rows.steps = {step: row for step, row in rows.steps.items() if step <= kept}
    rows.groups = {step: row for step, row in rows.groups.items() if step <= kept}
    above = {
        shard
        for shard, members in rows.trajectories.items()
        if any(row.step > kept for row in members) or any(row.step > kept for row in rows.lost[shard])
    }
    for by_shard in (rows.trajectories, rows.texts, rows.lost):
        for shard in above:
            del by_shard[shard]
    rows.evaluations = {key: row for key, row in rows.evaluations.items() if row.step <= kept and not row.final}
    rows.alerts = [alert for alert in rows.alerts if alert.step <= kept or alert.rule == MACHINES]
    rows.fields["step"] = max(kept, 0)
    return kept if rows.cut is None else min(kept, rows.cut)


def _phase_changed(rows: Rows, payload: dict[str, Any]) -> None:
    rows.fields["phase"] = payload["phase"]
    rows.fields["wait_reason"] = payload.get("detail", "")[:WAIT_WORDS]


def _step_completed(rows: Rows, payload: dict[str, Any]) -> None:
    values = {name: value for name, value in payload.items() if name != "kind"}
    rows.steps[payload["step"]] = StepMetrics(run=rows.run, **values)
    rows.fields |= {name: payload[name] for name in ("step", "tokens", "seconds", "metrics")}


GROUP_DETAIL = ("tags", "groups", "environments", "seeds", "returns", "stds", "filter")
GROUP_FIELDS = ("seq", "attempt", "threshold", "scores", "kept")


def _groups_filtered(rows: Rows, payload: dict[str, Any]) -> None:
    rows.groups[payload["step"]] = StepGroups(
        run=rows.run,
        step=payload["step"],
        detail={name: payload[name] for name in GROUP_DETAIL},
        **{name: payload[name] for name in GROUP_FIELDS},
    )


def _trajectories_recorded(rows: Rows, payload: dict[str, Any]) -> None:
    shard = payload["path"]
    if shard in rows.spared:
        return
    rows.removed.discard(shard)
    found = read_shard(rows.run, payload)
    rows.trajectories[shard], rows.texts[shard], rows.lost[shard] = found.trajectories, found.texts, found.lost
    if found.lost:
        count, why = sum(lost.count for lost in found.lost), found.lost[0].why
        log.warning("Run %s: %d trajectories of %s are lost: %s", rows.run.pk, count, shard, why)


def _trajectories_removed(rows: Rows, payload: dict[str, Any]) -> None:
    """By the run's retention: nothing of them is lost."""
    rows.removed |= set(payload["paths"])
    for shard in rows.lost.keys() & rows.removed:
        rows.lost[shard] = []


EVALUATION_KEYS = ("step", "environment", "final")
EVALUATION_VALUES = (
    "time",
    "episodes",
    "successes",
    "success",
    "low",
    "high",
    "mean_return",
    "faults",
    "first_seed",
    "temperature",
)


def _evaluation_completed(rows: Rows, payload: dict[str, Any]) -> None:
    row = Evaluation(run=rows.run, **{name: payload[name] for name in (*EVALUATION_KEYS, *EVALUATION_VALUES)})
    rows.evaluations[row.step, row.environment, row.final] = row


CHECKPOINT_FIELDS = ("step", "path", "bytes", "reason", "time")


def _checkpoint_saved(rows: Rows, payload: dict[str, Any]) -> None:
    rows.checkpoints[payload["path"]] = Checkpoint(run=rows.run, **{name: payload[name] for name in CHECKPOINT_FIELDS})


ALERT_FIELDS = ("seq", "step", "time", "rule", "severity", "message")


def _alert_raised(rows: Rows, payload: dict[str, Any]) -> None:
    rows.alerts.append(Alert(run=rows.run, payload=payload, **{name: payload[name] for name in ALERT_FIELDS}))


HANDLERS: dict[str, Callable[[Rows, dict[str, Any]], None]] = {
    "run_started": _run_started,
    "phase_changed": _phase_changed,
    "step_completed": _step_completed,
    "groups_filtered": _groups_filtered,
    "trajectories_recorded": _trajectories_recorded,
    "trajectories_removed": _trajectories_removed,
    "evaluation_completed": _evaluation_completed,
    "checkpoint_saved": _checkpoint_saved,
    "alert_raised": _alert_raised,
}
