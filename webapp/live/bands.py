"""Metrics for charts: a window of steps in buckets, each with its mean, its extremes, and the steps they were at.

All metrics of an answer share the buckets, so that curves can be read against one another at the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.events import RunStarted, kind_of
from webapp.live.buckets import Band, Buckets
from webapp.live.columns import Places, read_columns
from webapp.live.kept_columns import columns_of
from webapp.runs.models import Run


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
    places, metrics = columns_of(run, keys, having)
    start = int(np.searchsorted(places.step, first))
    end = len(places.step) if last is None else max(start, int(np.searchsorted(places.step, last, side="right")))
    steps = places.step[start:end]
    cut = Buckets(len(steps), buckets)
    ends = start + cut.ends
    return {
        "steps": places.step[ends].tolist(),
        "tokens": places.tokens[ends].tolist(),
        "seconds": places.seconds[ends].tolist(),
        "times": places.time[ends].tolist(),
        "elapsed": _elapsed(run, places, whole=not having)[ends].tolist(),
        "attempts": places.attempt[ends].tolist(),
        "thinned": cut.thinned,
        "spans": spans_of(steps.tolist()),
        "series": {key: cut.band(metrics[key][start:end], steps, real=bool(having)) for key in keys},
        "last_seq": int(places.seq.max(initial=0)),
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
    """When each attempt's engine started."""
    started = run.events.filter(kind=kind_of(RunStarted)).order_by("seq")
    return dict(started.values_list("attempt", "time"))


def elapsed_seconds(times: ArrayLike, attempts: ArrayLike, starts: dict[int, float]) -> NDArray[np.float64]:
    """For each step, by its time and attempt: seconds by the clock since the run began, between attempts none.

    With starts at 0 and 100, steps of attempt 1 at 10 and 20 and of attempt 2 at 105 are at 10, 20 and 25.
    """
    now, attempt = np.array(times, dtype=float), np.array(attempts, dtype=int)
    since = np.roll(now, 1)
    for first in np.flatnonzero(np.diff(attempt, prepend=0)):  # attempts count from 1
        since[first] = starts.get(int(attempt[first]), now[first])
    return np.cumsum(np.maximum(0.0, now - since))


def _elapsed(run: Run, places: Places, *, whole: bool) -> NDArray[np.float64]:
    """Of each of `places`, of which some are left out where they are not the `whole`."""
    every = places if whole else read_columns(run, []).places
    passed = elapsed_seconds(every.time, every.attempt, attempt_starts(run))
    if whole:
        return passed
    by_step = dict(zip(every.step.tolist(), passed.tolist(), strict=True))
    return np.array([by_step.get(step, 0.0) for step in places.step.tolist()])
