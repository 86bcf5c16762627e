"""A run's steps read by column: the axes of charts, and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from django.db.models import TextField
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast
from numpy.typing import NDArray
from pydantic_core import from_json

from webapp.live.reading import KEYS_TO_PICK, can_be_a_name
from webapp.runs.models import Run

Column = NDArray[np.float64]  # NaN where a step has no value


class Axes(NamedTuple):
    """Of steps in order; each is an array of as many numbers."""

    step: NDArray[np.int64]
    tokens: NDArray[np.int64]
    seconds: NDArray[np.float64]
    time: NDArray[np.float64]
    seq: NDArray[np.int64]
    attempt: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> Axes:
        """Of rows that begin with these columns."""
        step, tokens, seconds, time, seq, attempt = list(zip(*rows, strict=True))[: len(cls._fields)] or [()] * 6
        return cls(_whole(step), _whole(tokens), _real(seconds), _real(time), _whole(seq), _whole(attempt))


class Columns(NamedTuple):
    axes: Axes
    metrics: dict[str, Column]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(column.nbytes for column in (*self.axes, *self.metrics.values()))


def read_columns(run: Run, keys: Sequence[str], having: Sequence[str] = ()) -> Columns:
    """Of all steps, or of those that have one of the metrics `having`. One query, so that a step added meanwhile
    is in every column or in none."""
    names = [key for key in keys if can_be_a_name(key)]
    steps = run.steps.order_by("step")
    if having:
        sought = [key for key in having if can_be_a_name(key)]
        steps = steps.filter(metrics__has_any_keys=sought) if sought else steps.none()
    if len(names) <= KEYS_TO_PICK:
        rows = list(steps.values_list(*Axes._fields, *(KeyTransform(name, "metrics") for name in names)))
        picked = list(zip(*rows, strict=True))[len(Axes._fields) :]
        columns = dict(zip(names, map(_real, picked), strict=False))  # without rows there are no columns
    else:
        rows = list(steps.values_list(*Axes._fields, Cast("metrics", TextField())))
        columns = _parsed([from_json(row[-1], cache_strings="keys") for row in rows], names)
    nothing = np.full(len(rows), np.nan)
    return Columns(Axes.of(rows), {key: columns.get(key, nothing) for key in keys})


def _parsed(metrics: list[dict[str, Any]], names: Sequence[str]) -> dict[str, Column]:
    """Usually every step has every metric, and they are selected at once."""
    try:
        rows = list(map(itemgetter(*names), metrics))
    except KeyError:
        return {name: _real([step.get(name) for step in metrics]) for name in names}
    return dict(zip(names, np.array(rows, dtype=float).reshape(-1, len(names)).T, strict=True))


def _whole(column: Sequence[Any]) -> NDArray[np.int64]:
    return np.array(column, dtype=np.int64)


def _real(column: Sequence[Any]) -> NDArray[np.float64]:
    return np.array(column, dtype=np.float64)
