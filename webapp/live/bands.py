"""Metrics for charts: a window of steps in buckets, each with its mean, its extremes, and the steps they were at.

All metrics of an answer share the buckets, so that curves can be read against one another at the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from django.db.models import TextField
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast
from pydantic_core import from_json

from webapp.live.reading import KEYS_TO_PICK, can_be_a_name
from webapp.runs.models import Run

PLACE = ("step", "tokens", "seconds", "time", "seq", "attempt")
Column = list[float | None]


class Band(TypedDict):
    """One value a bucket, None where it has none. Without thinning the extremes are the value and left empty."""

    mean: Column
    low: Column
    high: Column
    low_at: list[int | None]  # the step of the smallest value
    high_at: list[int | None]


class MetricBands(TypedDict):
    """Places of equal length, each the last step of its bucket. `elapsed` is seconds by the clock since the first
    start, with the time between two attempts left out; `thinned` says that a bucket holds more than one step."""

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    elapsed: list[float]
    attempts: list[int]
    thinned: bool
    series: dict[str, Band]
    last_seq: int


def metric_bands(
    run: Run, keys: Sequence[str], buckets: int = 600, *, first: int = 0, last: int | None = None
) -> MetricBands:
    """The metrics `keys` from step `first` to `last`, both included, in at most `buckets` stretches of steps."""
    rows, columns = _read(run, keys)
    elapsed = elapsed_seconds(((row[3], row[5]) for row in rows), attempt_starts(run))
    chosen = [i for i, row in enumerate(rows) if row[0] >= first and (last is None or row[0] <= last)]
    groups = _groups(chosen, buckets)
    ends = [group[-1] for group in groups]
    thinned = len(groups) < len(chosen)
    steps = [row[0] for row in rows]
    return {
        "steps": [rows[i][0] for i in ends],
        "tokens": [rows[i][1] for i in ends],
        "seconds": [rows[i][2] for i in ends],
        "times": [rows[i][3] for i in ends],
        "elapsed": [elapsed[i] for i in ends],
        "attempts": [rows[i][5] for i in ends],
        "thinned": thinned,
        "series": {key: _band(column, groups, steps, thinned) for key, column in columns.items()},
        "last_seq": max((row[4] for row in rows), default=0),
    }


def attempt_starts(run: Run) -> dict[int, float]:
    """When each attempt's engine said that it had started."""
    started = run.events.filter(kind="run_started").order_by("seq").values_list("payload", flat=True)
    return {payload["attempt"]: payload["time"] for payload in started}


def elapsed_seconds(steps: Iterable[tuple[float, int]], starts: dict[int, float]) -> list[float]:
    """For each step, given as its time and attempt: seconds by the clock since the run began, between attempts none.

    With starts at 0 and 100, steps of attempt 1 at 10 and 20 and of attempt 2 at 105 are at 10, 20 and 25.
    """
    found: list[float] = []
    passed, since, of = 0.0, 0.0, 0
    for time, attempt in steps:
        if attempt != of:
            since, of = starts.get(attempt, time), attempt
        passed += max(0.0, time - since)
        since = time
        found.append(passed)
    return found


def _read(run: Run, keys: Sequence[str]) -> tuple[list[tuple[Any, ...]], dict[str, Column]]:
    """Places and metrics in one query, so that a step that comes meanwhile is in both or in neither."""
    steps = run.steps.order_by("step")
    names = [key for key in keys if can_be_a_name(key)]
    if len(names) <= KEYS_TO_PICK:
        rows = list(steps.values_list(*PLACE, *(KeyTransform(name, "metrics") for name in names)))
        columns: dict[str, Column] = {name: [row[len(PLACE) + i] for row in rows] for i, name in enumerate(names)}
    else:
        rows = list(steps.values_list(*PLACE, Cast("metrics", TextField())))
        parsed = [from_json(row[-1], cache_strings="keys") for row in rows]
        columns = {name: [metrics.get(name) for metrics in parsed] for name in names}
    return rows, columns | {key: [None] * len(rows) for key in keys if key not in columns}


def _groups(places: list[int], buckets: int) -> list[list[int]]:
    """Neighbouring places, in at most `buckets` groups that differ by one in size at most."""
    count = min(len(places), max(1, buckets))
    return [places[len(places) * i // count : len(places) * (i + 1) // count] for i in range(count)]


def _band(column: Column, groups: list[list[int]], steps: list[int], thinned: bool) -> Band:
    if not thinned:
        return {"mean": [column[group[0]] for group in groups], "low": [], "high": [], "low_at": [], "high_at": []}
    band = Band(mean=[], low=[], high=[], low_at=[], high_at=[])
    for group in groups:
        present = [(value, steps[i]) for i in group if (value := column[i]) is not None]
        low, high = (min(present), max(present)) if present else ((None, None), (None, None))
        band["mean"].append(sum(value for value, _ in present) / len(present) if present else None)
        band["low"].append(low[0])
        band["high"].append(high[0])
        band["low_at"].append(low[1])
        band["high_at"].append(high[1])
    return band
