"""Metrics for charts: a window of steps in buckets, each with its mean, its extremes, and the steps they were at.

All metrics of an answer share the buckets, so that curves can be read against one another at the same place.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypedDict

import numpy as np
from django.db.models import TextField
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast
from pydantic_core import from_json

from webapp.live.buckets import Band, Buckets, Column
from webapp.live.reading import KEYS_TO_PICK, can_be_a_name
from webapp.runs.models import Run

# SQLite hands Python's lock on at every row: of ten readers at once each would wait for the others ten thousand times.
ONE_READER = threading.Lock()


class Places(NamedTuple):
    """Columns of a run's steps, in order."""

    step: Sequence[int] = ()
    tokens: Sequence[int] = ()
    seconds: Sequence[float] = ()
    time: Sequence[float] = ()
    seq: Sequence[int] = ()
    attempt: Sequence[int] = ()

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Places:
        """Of rows that begin with these columns."""
        return cls(*list(zip(*rows, strict=True))[: len(cls._fields)])


class MetricBands(TypedDict):
    """Places of equal length, each the last step of its bucket. `elapsed` is seconds by the clock since the first
    start, with the time between two attempts left out; `thinned` says that a bucket holds more than one step.

    `spans` are all steps that the places stand for, each span as its first step, its last, and every how manieth it
    has: 1, 6, 11 and 20 to 22 are [[1, 11, 5], [20, 22, 1]].
    """

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    elapsed: list[float]
    attempts: list[int]
    thinned: bool
    spans: list[tuple[int, int, int]]
    series: dict[str, Band]
    last_seq: int


def metric_bands(
    run: Run,
    keys: Sequence[str],
    buckets: int = 600,
    *,
    first: int = 0,
    last: int | None = None,
    having: Sequence[str] = (),
) -> MetricBands:
    """The metrics `keys` from step `first` to `last`, both included, in at most `buckets` stretches of steps.

    With `having`, only steps that have one of those metrics: what is measured every few steps then comes with the steps
    at which it was. Of more than `buckets` of them each stretch is told by its last step, not by a mean over several.
    """
    with ONE_READER:
        return _bands(run, keys, buckets, first=first, last=last, having=having)


def _bands(
    run: Run, keys: Sequence[str], buckets: int, *, first: int, last: int | None, having: Sequence[str]
) -> MetricBands:
    places, columns = _read(run, keys, having)
    elapsed = _elapsed(run, places, whole=not having)
    start = bisect_left(places.step, first)
    chosen = slice(start, len(places.step) if last is None else max(start, bisect_right(places.step, last)))
    steps = places.step[chosen]
    cut = Buckets(len(steps), buckets)
    ends = [start + i for i in cut.ends]
    return {
        "steps": [places.step[i] for i in ends],
        "tokens": [places.tokens[i] for i in ends],
        "seconds": [places.seconds[i] for i in ends],
        "times": [places.time[i] for i in ends],
        "elapsed": [elapsed[i] for i in ends],
        "attempts": [places.attempt[i] for i in ends],
        "thinned": cut.thinned,
        "spans": spans_of(steps),
        "series": {key: cut.band(columns[key][chosen], steps, real=bool(having)) for key in keys},
        "last_seq": max(places.seq, default=0),
    }


def spans_of(steps: Sequence[int]) -> list[tuple[int, int, int]]:
    """Rising steps as stretches of equal distance, `(first, last, every)`; one that stands alone has 1."""
    if len(steps) > 1 and len(gaps := set(np.diff(steps).tolist())) == 1:
        return [(steps[0], steps[-1], gaps.pop())]
    found: list[tuple[int, int, int]] = []
    for step in steps:
        first, last, every = found[-1] if found else (0, 0, 0)
        if found and (first == last or step - last == every):
            found[-1] = (first, step, step - last)
        else:
            found.append((step, step, 1))
    return found


def attempt_starts(run: Run) -> dict[int, float]:
    """When each attempt's engine said that it had started."""
    started = run.events.filter(kind="run_started").order_by("seq").values_list("payload", flat=True)
    return {payload["attempt"]: payload["time"] for payload in started}


def elapsed_seconds(times: Sequence[float], attempts: Sequence[int], starts: dict[int, float]) -> list[float]:
    """For each step, by its time and attempt: seconds by the clock since the run began, between attempts none.

    With starts at 0 and 100, steps of attempt 1 at 10 and 20 and of attempt 2 at 105 are at 10, 20 and 25.
    """
    now, since = np.array(times, dtype=float), np.roll(np.array(times, dtype=float), 1)
    for first in np.flatnonzero(np.diff(attempts, prepend=0)):  # attempts count from 1
        since[first] = starts.get(attempts[first], times[first])
    passed: list[float] = np.cumsum(np.maximum(0.0, now - since)).tolist()
    return passed


def _elapsed(run: Run, places: Places, *, whole: bool) -> list[float]:
    """Of each of `places`, of which some are left out where they are not the `whole`."""
    starts = attempt_starts(run)
    if whole:
        return elapsed_seconds(places.time, places.attempt, starts)
    every = Places.of(run.steps.order_by("step").values_list(*Places._fields))
    passed = dict(zip(every.step, elapsed_seconds(every.time, every.attempt, starts), strict=True))
    return [passed.get(step, 0.0) for step in places.step]


def _read(run: Run, keys: Sequence[str], having: Sequence[str]) -> tuple[Places, dict[str, Column]]:
    """Places and metrics in one query, so that a step that comes meanwhile is in both or in neither."""
    names = [key for key in keys if can_be_a_name(key)]
    steps = run.steps.order_by("step")
    if having:
        sought = [key for key in having if can_be_a_name(key)]
        steps = steps.filter(metrics__has_any_keys=sought) if sought else steps.none()
    if len(names) <= KEYS_TO_PICK:
        rows = list(steps.values_list(*Places._fields, *(KeyTransform(name, "metrics") for name in names)))
        picked = list(zip(*rows, strict=True))[len(Places._fields) :]
        columns: dict[str, Column] = dict(zip(names, picked, strict=False))  # without rows there are no columns
    else:
        rows = list(steps.values_list(*Places._fields, Cast("metrics", TextField())))
        columns = _columns([from_json(row[-1], cache_strings="keys") for row in rows], names)
    return Places.of(rows), columns | {key: [None] * len(rows) for key in keys if key not in columns}


def _columns(parsed: list[dict[str, Any]], names: Sequence[str]) -> dict[str, Column]:
    """Mostly every step has every metric, and they are picked at once."""
    try:
        return dict(zip(names, zip(*map(itemgetter(*names), parsed), strict=True), strict=False))
    except KeyError:
        return {name: [metrics.get(name) for metrics in parsed] for name in names}
