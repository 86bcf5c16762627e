"""Downsampling: the columns of a metric in buckets of neighbouring steps, with mean, extremes and their steps."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray


class Band(TypedDict):
    """One value per bucket, None where it has none. Without downsampling the extremes equal the value and are empty."""

    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    low_at: list[int | None]  # the step of the smallest value
    high_at: list[int | None]


class Buckets:
    """Indices below `length` in at most `most` buckets, whose sizes differ by at most one."""

    def __init__(self, length: int, most: int) -> None:
        self.count = min(length, max(1, most))
        edges = [length * i // max(1, self.count) for i in range(self.count + 1)]
        starts, ends = np.array(edges[:-1], dtype=int), np.array(edges[1:], dtype=int)
        widest = int((ends - starts).max(initial=0))
        indices = starts[:, None] + np.arange(widest)
        self.ends = ends - 1  # the last index of each
        self.thinned = self.count < length
        self.inside = indices < ends[:, None]  # (count, widest): a row ends where the next bucket begins
        self.indices = np.minimum(indices, ends[:, None] - 1)

    def band(self, column: NDArray[np.float64], steps: NDArray[np.int64], *, last_value: bool = False) -> Band:
        """Of `column`, a value or NaN at each index; `steps` are the steps of the indices.

        Of equal extremes, the first smallest and the last largest count. With `last_value`, a bucket has the value at
        its last index instead of a mean.
        """
        last = column[self.ends]
        there = ~np.isnan(last)
        if not self.thinned:
            return {"mean": _where(there, last), "low": [], "high": [], "low_at": [], "high_at": []}
        values = column[self.indices]
        present = self.inside & ~np.isnan(values)
        known = present.any(axis=1)
        at = steps[self.indices]
        low, high = np.where(present, values, np.inf), np.where(present, values, -np.inf)
        lowest, highest = low.argmin(axis=1), high.shape[1] - 1 - high[:, ::-1].argmax(axis=1)
        mean = np.where(present, values, 0.0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        rows = np.arange(self.count)
        return {
            "mean": _where(there, last) if last_value else _where(known, mean),
            "low": _where(known, low[rows, lowest]),
            "high": _where(known, high[rows, highest]),
            "low_at": _where(known, at[rows, lowest]),
            "high_at": _where(known, at[rows, highest]),
        }


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    return [value if there else None for value, there in zip(values.tolist(), known.tolist(), strict=True)]
