"""Lines of metrics of a trainer elsewhere, as events: each line is read on its own, and refused with a reason.

A line is `{"seq": 7, "step": 3, "metrics": {"reward/mean": 0.5}}`, with `time` (seconds since the epoch) and `tokens`
(sampled since the run began) if they are known. `seq` grows from line to line over the whole run, so that a sender who
does not know what arrived sends it again: lines up to the newest `seq` are counted as duplicates. Lines of one step are
merged; a step that has ended cannot be reported any more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from engine.events import StepCompleted

MOST_METRICS = 2000  # of a step
LONGEST_NAME = 200
LARGEST = 2**53
FIELDS = {"seq", "step", "metrics", "time", "tokens"}
NOT_FINITE = {"NaN", "Infinity", "-Infinity"}  # JSON has no numbers for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What has arrived so far: the newest `seq`, and the step that lines may still add to."""

    seq: int = 0
    step: int = -1
    metrics: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    started_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A line that was not stored. `line` counts from 1."""

    line: int
    seq: int | None
    reason: str


@dataclass(slots=True, kw_only=True)
class Batch:
    """The result of a batch. `events` are still without `seq`; their `time` is that of the line."""

    position: Position
    events: list[StepCompleted] = field(default_factory=list)
    accepted: int = 0
    duplicates: int = 0
    dropped_values: int = 0  # not finite
    gaps: int = 0  # `seq` that no line had
    rejected: list[Rejected] = field(default_factory=list)


class _Refused(ValueError):
    """The text is the reason."""


def read_batch(lines: Iterable[bytes], position: Position, *, now: float) -> Batch:
    batch = Batch(position=position)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        seq: int | None = None
        try:
            data = _object(line)
            seq = _whole(data, "seq", low=1)
            _add(batch, data, seq, now)
        except _Refused as refusal:
            batch.rejected.append(Rejected(line=number, seq=seq, reason=str(refusal)))
    return batch


def _add(batch: Batch, data: dict[str, Any], seq: int, now: float) -> None:
    before = batch.position
    if seq <= before.seq:
        batch.duplicates += 1
        return
    step = _whole(data, "step", low=0)
    if step < before.step:
        raise _Refused(f"step is {step}, after a line of step {before.step}. Send steps in order.")
    metrics, dropped = _metrics(data)
    merged = {**(before.metrics if step == before.step else {}), **metrics}
    if len(merged) > MOST_METRICS:
        raise _Refused(f"Step {step} has {len(merged):,} metrics; at most {MOST_METRICS:,} are allowed.")
    time = _time(data, now)
    tokens = max(before.tokens, _whole(data, "tokens", low=0) if "tokens" in data else 0)
    seconds = max(0.0, time - before.started_at)
    batch.events.append(StepCompleted(step=step, time=time, metrics=merged, tokens=tokens, seconds=seconds))
    batch.position = replace(before, seq=seq, step=step, metrics=merged, tokens=tokens)
    batch.gaps += seq - before.seq - 1
    batch.accepted += 1
    batch.dropped_values += dropped


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Refused(f"This is not JSON: {str(error)[:80]}.") from None
    if not isinstance(data, dict):
        raise _Refused(f"This is a JSON {type(data).__name__}, not an object.")
    if unknown := sorted(data.keys() - FIELDS):
        raise _Refused(f"There is no field {unknown[0][:60]!r}; allowed are {', '.join(sorted(FIELDS))}.")
    return data


def _whole(data: dict[str, Any], name: str, *, low: int) -> int:
    value = data.get(name)
    if type(value) is not int or not low <= value < LARGEST:
        raise _Refused(f"{name} is {str(value)[:60]!r}; it must be a whole number of at least {low}.")
    return value


def _time(data: dict[str, Any], now: float) -> float:
    value = data.get("time", now)
    if type(value) not in (int, float) or not 0 <= value < LARGEST:
        raise _Refused(f"time is {str(value)[:60]!r}; it must be seconds since the epoch.")
    return float(value)


def _metrics(data: dict[str, Any]) -> tuple[dict[str, float], int]:
    """Those with a finite value, and how many have none."""
    given = data.get("metrics")
    if not isinstance(given, dict):
        raise _Refused("metrics is missing or no object of names and numbers.")
    found: dict[str, float] = {}
    dropped = 0
    for name, value in given.items():
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise _Refused(f"The name {name[:60]!r} must have 1 to {LONGEST_NAME} printable characters.")
        if value in NOT_FINITE if isinstance(value, str) else value is None:
            dropped += 1
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise _Refused(f"The value of {name[:60]!r} is {str(value)[:60]!r}; it must be a number.")
        elif not math.isfinite(number := _float(value)):
            dropped += 1
        else:
            found[name] = number
    return found, dropped


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # of an integer
        return math.inf
