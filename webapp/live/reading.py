"""Rows of a run as engine events after a cursor, and as metric series for charts. REST and sockets both use it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, TypedDict

from django.db.models import QuerySet, TextField
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast
from pydantic_core import from_json

from engine.events import StepCompleted, kind_of
from webapp.runs.models import Run, StepMetrics

EventDict = dict[str, Any]
KEYS_TO_PICK = 8
STEP_FIELDS = ("seq", "time", "attempt", "epoch", "step", "metrics", "tokens", "seconds", "skipped")


class MetricSeries(TypedDict):
    """Columns of equal length, one entry per step shown; `series` holds None where a step lacks the metric."""

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    series: dict[str, list[float | None]]
    last_seq: int


def events_after(run: Run, seq: int, limit: int = 500) -> list[EventDict]:
    """At most `limit` events with a greater `seq`, in order, each exactly as the engine wrote it.

    Steps that a resumed attempt took again are missing; its `run_started` is there. `groups_filtered` and
    `problems_played` are left out: they are seldom shown and as large as everything else, so that the groups of a step
    are requested by step.

    Rows are written together with the run's `last_seq`: up to that they are complete, whatever is committed between two
    queries.
    """
    upto = Run.objects.filter(pk=run.pk).values_list("last_seq", flat=True).first() or 0
    new = {"seq__gt": seq, "seq__lte": upto}
    events = run.events.filter(**new).order_by("seq").values_list("seq", "payload")[:limit]
    steps = run.steps.filter(**new).order_by("seq").values(*STEP_FIELDS)[:limit]
    kind = kind_of(StepCompleted)
    merged = heapq.merge(events, ((row["seq"], {"kind": kind, **row}) for row in steps), key=_seq)
    return [payload for _, payload in merged][:limit]


def _seq(pair: tuple[int, EventDict]) -> int:
    return pair[0]


def metric_series(
    run: Run, keys: Sequence[str], points: int = 1000, *, first: int = 0, last: int | None = None
) -> MetricSeries:
    """The metrics `keys` from step `first` to `last`, both included, downsampled to about `points` steps.

    Downsampling keeps, of each interval of steps, the smallest and the largest value of every key, so that a spike of
    one step is never lost. Values are never means.
    """
    steps = StepMetrics.objects.filter(run=run, step__gte=first).order_by("step")
    if last is not None:
        steps = steps.filter(step__lte=last)
    rows = list(steps.values_list("step", "tokens", "seconds", "time", "seq"))
    nowhere: dict[str, list[float | None]] = {key: [None] * len(rows) for key in keys if not can_be_a_name(key)}
    columns = _columns(steps, [key for key in keys if key not in nowhere]) | nowhere
    kept = _indices_to_show(len(rows), list(columns.values()), points)
    return {
        "steps": [rows[i][0] for i in kept],
        "tokens": [rows[i][1] for i in kept],
        "seconds": [rows[i][2] for i in kept],
        "times": [rows[i][3] for i in kept],
        "series": {key: [column[i] for i in kept] for key, column in columns.items()},
        "last_seq": max((row[4] for row in rows), default=0),
    }


def can_be_a_name(key: str) -> bool:
    """Whether a row may hold it: PostgreSQL refuses NUL, and half of a surrogate pair is not text."""
    return "\0" not in key and not any("\ud800" <= letter <= "\udfff" for letter in key)


def _columns(steps: QuerySet[StepMetrics], keys: Sequence[str]) -> dict[str, list[float | None]]:
    """The database selects few keys; for many, each row's text is parsed once, without Django's slow decoder."""
    if len(keys) <= KEYS_TO_PICK:
        picked = steps.values_list(*(KeyTransform(key, "metrics") for key in keys)) if keys else []
        return {key: [row[index] for row in picked] for index, key in enumerate(keys)}
    texts = steps.values_list(Cast("metrics", TextField()), flat=True)
    parsed = [from_json(text, cache_strings="keys") for text in texts]
    return {key: [metrics.get(key) for metrics in parsed] for key in keys}


def _indices_to_show(count: int, columns: list[list[float | None]], points: int) -> list[int]:
    if count <= max(2, points) or not columns:
        return list(range(count)) if columns or count <= points else list(range(0, count, -(-count // points)))
    intervals = max(1, points // (2 * len(columns)))
    kept = {0, count - 1}
    for interval in range(intervals):
        indices = range(count * interval // intervals, count * (interval + 1) // intervals)
        for column in columns:
            kept.update(_extremes(column, indices))
    return sorted(kept)


def _extremes(column: list[float | None], indices: range) -> tuple[int, ...]:
    present = [(value, index) for index in indices if (value := column[index]) is not None]
    return (min(present)[1], max(present)[1]) if present else ()
