"""Lines of a trainer elsewhere, as events: each line is read on its own, and refused with a reason.

A line is a JSON object with `seq`, `step` and one of these:

    {"seq": 7, "step": 3, "metrics": {"reward/mean": 0.5}}          with `tokens`, sampled since the run began, if known
    {"seq": 8, "step": 3, "groups": [{"returns": [0, 1, 0, 0]}]}    what every trajectory of the step returned
    {"seq": 9, "step": 3, "trajectories": [{"group": 0, "messages": […]}]}
    {"seq": 10, "step": 3, "evaluation": {"episodes": 256, "successes": 61, "mean_return": 0.2}}

and `time`, in seconds since the epoch, if it is not that of its arrival. `seq` grows from line to line over the whole
run, so that a sender who does not know what arrived sends it again: lines up to the newest `seq` are counted as
duplicates. Metrics of one step are merged; a step that has ended takes no more of them, only trajectories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.events import Event, StepCompleted, TrajectoriesRecorded
from engine.foreign.evaluation_lines import read_evaluation
from engine.foreign.group_lines import read_groups
from engine.foreign.metric_lines import MOST_METRICS, read_metrics
from engine.foreign.refused import LARGEST, Refused, whole
from engine.foreign.trajectory_lines import TrajectoryFile, read_trajectories

SHARED = frozenset({"seq", "step", "time"})
FIELDS: dict[str, frozenset[str]] = {
    "metrics": SHARED | {"metrics", "tokens"},
    "groups": SHARED | {"groups"},
    "trajectories": SHARED | {"trajectories", "split"},
    "evaluation": SHARED | {"evaluation"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What has arrived so far: the newest `seq`, and the step that lines may still add to."""

    seq: int = 0
    step: int = -1
    metrics: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    started_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What is known of a run before its first line. `names` are the trainer's names for metrics of ours."""

    environment: str = "elsewhere"
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A line that was not stored. `line` counts from 1."""

    line: int
    seq: int | None
    reason: str


@dataclass(slots=True, kw_only=True)
class Batch:
    """The result of a batch. `events` are still without `seq`; their `time` is that of the line. `files` are written
    before them."""

    position: Position
    sender: Sender = field(default_factory=Sender)
    events: list[Event] = field(default_factory=list)
    files: list[TrajectoryFile] = field(default_factory=list)
    accepted: int = 0
    duplicates: int = 0
    dropped_values: int = 0  # not finite
    gaps: int = 0  # `seq` that no line had
    rejected: list[Rejected] = field(default_factory=list)


def read_batch(lines: Iterable[bytes], position: Position, *, now: float, sender: Sender | None = None) -> Batch:
    batch = Batch(position=position, sender=sender or Sender())
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        seq: int | None = None
        try:
            data = _object(line)
            seq = whole(data, "seq", low=1)
            _add(batch, data, seq, now)
        except Refused as refusal:
            batch.rejected.append(Rejected(line=number, seq=seq, reason=str(refusal)))
    return batch


def _add(batch: Batch, data: dict[str, Any], seq: int, now: float) -> None:
    before = batch.position
    if seq <= before.seq:
        batch.duplicates += 1
        return
    kind = _kind(data)
    step = whole(data, "step", low=0)
    if step < before.step and kind != "trajectories":
        raise Refused(f"step is {step}, after a line of step {before.step}. Send steps in order.")
    batch.position = ADD[kind](batch, data, replace(before, seq=seq), step, _time(data, now))
    batch.gaps += seq - before.seq - 1
    batch.accepted += 1


def _add_metrics(batch: Batch, data: dict[str, Any], position: Position, step: int, time: float) -> Position:
    metrics, dropped = read_metrics(data, batch.sender.names)
    tokens = max(position.tokens, whole(data, "tokens", low=0) if "tokens" in data else 0)
    after = _merged(batch, replace(position, tokens=tokens), step, time, metrics)
    batch.dropped_values += dropped
    return after


def _add_groups(batch: Batch, data: dict[str, Any], position: Position, step: int, time: float) -> Position:
    groups = read_groups(data, step=step, time=time, environment=batch.sender.environment)
    after = _merged(batch, position, step, time, groups.metrics)
    batch.events.append(groups.event)
    return after


def _add_trajectories(batch: Batch, data: dict[str, Any], position: Position, step: int, time: float) -> Position:
    file = read_trajectories(data, step=step, seq=position.seq, environment=batch.sender.environment)
    batch.files.append(file)
    batch.events.append(
        TrajectoriesRecorded(step=step, time=time, split=file.split, path=file.path, count=len(file.records))
    )
    return position


def _add_evaluation(batch: Batch, data: dict[str, Any], position: Position, step: int, time: float) -> Position:
    batch.events.append(read_evaluation(data, step=step, time=time, environment=batch.sender.environment))
    return position


ADD: dict[str, Callable[[Batch, dict[str, Any], Position, int, float], Position]] = {
    "metrics": _add_metrics,
    "groups": _add_groups,
    "trajectories": _add_trajectories,
    "evaluation": _add_evaluation,
}


def _merged(batch: Batch, position: Position, step: int, time: float, metrics: dict[str, float]) -> Position:
    merged = {**(position.metrics if step == position.step else {}), **metrics}
    if len(merged) > MOST_METRICS:
        raise Refused(f"Step {step} has {len(merged):,} metrics; at most {MOST_METRICS:,} are allowed.")
    seconds = max(0.0, time - position.started_at)
    batch.events.append(StepCompleted(step=step, time=time, metrics=merged, tokens=position.tokens, seconds=seconds))
    return replace(position, step=step, metrics=merged)


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refused(f"This is not JSON: {str(error)[:80]}.") from None
    if not isinstance(data, dict):
        raise Refused(f"This is a JSON {type(data).__name__}, not an object.")
    return data


def _kind(data: dict[str, Any]) -> str:
    found = [kind for kind in FIELDS if kind in data]
    if len(found) != 1:
        has = f"has {' and '.join(found)}" if found else "has none"
        raise Refused(f"A line has one of {', '.join(FIELDS)}; this one {has}.")
    if unknown := sorted(data.keys() - FIELDS[found[0]]):
        allowed = ", ".join(sorted(FIELDS[found[0]]))
        raise Refused(f"Field {unknown[0][:60]!r} is not allowed next to {found[0]}; allowed are {allowed}.")
    return found[0]


def _time(data: dict[str, Any], now: float) -> float:
    value = data.get("time", now)
    if type(value) not in (int, float) or not 0 <= value < LARGEST:
        raise Refused(f"time is {str(value)[:60]!r}; it must be seconds since the epoch.")
    return float(value)
