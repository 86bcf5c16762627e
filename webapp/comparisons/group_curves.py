"""The curves of groups of runs: at each step the mean over the runs with its band, computed from columns.

A run has a value between two of its steps by interpolation, and none before its first or after its last. Where a run of
a group has ended, the mean is over fewer runs and so another average: `count` says over how many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from engine.statistics.group_bands import BandKind, group_band
from webapp.evaluations.models import Evaluation
from webapp.live.bands import attempt_starts, elapsed_seconds
from webapp.live.column_cache import columns_of
from webapp.live.columns import Axes
from webapp.runs.models import Run

HELD_OUT = re.compile(r"eval/(.+)/success", re.DOTALL)
POSITIONS = ("tokens", "seconds", "elapsed")

Column = NDArray[np.float64]
Curve = tuple[Column, Column]  # steps in order, and values


class GroupCurve(TypedDict):
    """Columns of equal length. Positions are means over the runs with a value, and null beyond the first run's end."""

    steps: list[int]
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    count: list[int]
    tokens: list[float | None]
    seconds: list[float | None]
    elapsed: list[float | None]


def group_curves(
    groups: Sequence[Sequence[Run]], metrics: Sequence[str], band: BandKind, *, points: int = 600
) -> list[dict[str, GroupCurve]]:
    """For each group the curve of each metric, of at most `points` points."""
    runs = [run for group in groups for run in group]
    held_out = _held_out_curves(runs, metrics)
    return [_of_group(group, metrics, band, held_out, points) for group in groups]


def curve_of(metric: str, columns: Any, run_id: str, held_out: dict[tuple[str, str], Curve]) -> Curve:
    """The values of a run: of a held-out success those of its evaluations, if it has any."""
    if found := held_out.get((run_id, metric)):
        return found
    values = columns.metrics[metric]
    there = ~np.isnan(values)
    return columns.axes.step[there].astype(np.float64), values[there]


def _of_group(
    group: Sequence[Run],
    metrics: Sequence[str],
    band: BandKind,
    held_out: dict[tuple[str, str], Curve],
    points: int,
) -> dict[str, GroupCurve]:
    columns = [columns_of(run, metrics) for run in group]
    positions = [_positions(run, one.axes) for run, one in zip(group, columns, strict=True)]
    return {
        metric: _group_curve(
            [curve_of(metric, one, run.pk, held_out) for run, one in zip(group, columns, strict=True)],
            [one.axes.step for one in columns],
            positions,
            band,
            points,
        )
        for metric in metrics
    }


def _group_curve(
    curves: Sequence[Curve], steps: Sequence[Any], positions: Sequence[dict[str, Column]], band: BandKind, points: int
) -> GroupCurve:
    curves_there = [curve for curve in curves if len(curve[0])]
    grid = np.unique(np.concatenate([curve[0] for curve in curves_there])) if curves_there else np.zeros(0)
    values = np.array([_along(grid, *curve) for curve in curves_there]).reshape(len(curves_there), len(grid))
    values, grid = _in_buckets(values, grid, points)
    found = group_band(values, band)
    complete = found.count == len(curves_there)
    return {
        "steps": grid.astype(int).tolist(),
        "mean": _listed(found.mean),
        "low": _listed(found.low),
        "high": _listed(found.high),
        "count": found.count.tolist(),
        **{name: _mean_position(name, grid, steps, positions, complete) for name in POSITIONS},  # type: ignore[typeddict-item]
    }


def _along(grid: Column, steps: Column, values: Column) -> Column:
    return np.interp(grid, steps, values, left=np.nan, right=np.nan)


def _in_buckets(values: NDArray[np.float64], grid: Column, points: int) -> tuple[NDArray[np.float64], Column]:
    """Means of each run over neighbouring steps; a bucket is at its last step."""
    length = len(grid)
    if length <= points:
        return values, grid
    starts = np.array([length * index // points for index in range(points)])
    ends = np.append(starts[1:], length) - 1
    there = ~np.isnan(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts, axis=1)
    counts = np.add.reduceat(there.astype(int), starts, axis=1)
    with np.errstate(invalid="ignore"):
        return sums / counts, grid[ends]  # 0 / 0 is NaN: no value


def _mean_position(
    name: str, grid: Column, steps: Sequence[Any], positions: Sequence[dict[str, Column]], complete: NDArray[np.bool_]
) -> list[float | None]:
    """Where all runs have a value; the mean over others would jump where one ends."""
    if not len(grid):
        return []
    known = [_along(grid, step, one[name]) for step, one in zip(steps, positions, strict=True) if len(step)]
    if not known:
        return [None] * len(grid)
    return _listed(np.where(complete, np.mean(known, axis=0), np.nan))


def _positions(run: Run, axes: Axes) -> dict[str, Column]:
    return {
        "tokens": axes.tokens.astype(np.float64),
        "seconds": axes.seconds,
        "elapsed": elapsed_seconds(axes.time, axes.attempt, attempt_starts(run)),
    }


def _held_out_curves(runs: Sequence[Run], metrics: Sequence[str]) -> dict[tuple[str, str], Curve]:
    tags = {found[1]: metric for metric in metrics if (found := HELD_OUT.fullmatch(metric))}
    rows = Evaluation.objects.filter(run__in=runs, environment__in=tags, requested=False, episodes__gt=0)
    points: dict[tuple[str, str], dict[int, float]] = {}
    for run_id, tag, step, success in rows.order_by("step", "final").values_list(
        "run_id", "environment", "step", "success"
    ):
        points.setdefault((run_id, tags[tag]), {})[step] = success
    return {key: (np.array(list(one), dtype=float), np.array(list(one.values()))) for key, one in points.items()}


def _listed(column: Column) -> list[float | None]:
    return [value if value == value else None for value in column.tolist()]
