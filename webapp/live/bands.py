"""Metrics for charts: a window of steps in buckets, each with its mean, its extremes, and the steps they were at.

All metrics of an answer share the buckets, so that curves can be compared at the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.events import RunStarted, kind_of
from webapp.live.buckets import Band, Buckets
from webapp.live.column_cache import columns_of
from webapp.live.columns import Axes, read_columns
from webapp.runs.models import Run


class MetricBands(TypedDict):
    """Columns of equal length, each entry the last step of its bucket. `elapsed` is wall-clock seconds since the first
    start, without the time between two attempts; with `thinned`, a bucket holds more than one step.

    `spans` are all steps in the buckets, each span as its first step, last step and stride: 1, 6, 11 and 20 to 22 are
    [[1, 11, 5], [20, 22, 1]].
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
    """The metrics `keys` from step `first` to `last`, both included, in at most `buckets` buckets.

    With `having`, only steps that have one of those metrics, for what is measured every few steps. If there are more
    than `buckets` of them, a bucket has the value of its last step, not a mean.
    """
    axes, metrics = columns_of(run, keys, having)
    start = int(np.searchsorted(axes.step, first))
    end = len(axes.step) if last is None else max(start, int(np.searchsorted(axes.step, last, side="right")))
    steps = axes.step[start:end]
    cut = Buckets(len(steps), buckets)
    ends = start + cut.ends
    return {
        "steps": axes.step[ends].tolist(),
        "tokens": axes.tokens[ends].tolist(),
        "seconds": axes.seconds[ends].tolist(),
        "times": axes.time[ends].tolist(),
        "elapsed": _elapsed(run, axes, whole=not having)[ends].tolist(),
        "attempts": axes.attempt[ends].tolist(),
        "thinned": cut.thinned,
        "spans": spans_of(steps.tolist()),
        "series": {key: cut.band(metrics[key][start:end], steps, last_value=bool(having)) for key in keys},
        "last_seq": int(axes.seq.max(initial=0)),
    }


def spans_of(steps: Sequence[int]) -> list[tuple[int, int, int]]:
    """Increasing steps as spans `(first, last, stride)`; a single step has stride 1."""
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
    """When each attempt's engine started."""
    started = run.events.filter(kind=kind_of(RunStarted)).order_by("seq")
    return dict(started.values_list("attempt", "time"))


def elapsed_seconds(times: ArrayLike, attempts: ArrayLike, starts: dict[int, float]) -> NDArray[np.float64]:
    """For each step, by its time and attempt: wall-clock seconds since the run began, without those between attempts.

    With starts at 0 and 100, steps of attempt 1 at 10 and 20 and of attempt 2 at 105 are at 10, 20 and 25.
    """
    now, attempt = np.array(times, dtype=float), np.array(attempts, dtype=int)
    since = np.roll(now, 1)
    for first in np.flatnonzero(np.diff(attempt, prepend=0)):  # attempts count from 1
        since[first] = starts.get(int(attempt[first]), now[first])
    return np.cumsum(np.maximum(0.0, now - since))


def _elapsed(run: Run, axes: Axes, *, whole: bool) -> NDArray[np.float64]:
    """Of each of `axes`; unless `whole`, some steps are left out."""
    every = axes if whole else read_columns(run, []).axes
    passed = elapsed_seconds(every.time, every.attempt, attempt_starts(run))
    if whole:
        return passed
    by_step = dict(zip(every.step.tolist(), passed.tolist(), strict=True))
    return np.array([by_step.get(step, 0.0) for step in axes.step.tolist()])
