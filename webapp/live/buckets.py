"""Columns of a metric in buckets of neighbouring places: of each bucket the mean, the extremes, and where they were."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray


class Band(TypedDict):
    """One value a bucket, None where it has none. Without thinning the extremes are the value and left empty."""

    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    low_at: list[int | None]  # the step of the smallest value
    high_at: list[int | None]


class Buckets:
    """The first `length` places, in at most `most` buckets that differ by one in size at most."""

    def __init__(self, length: int, most: int) -> None:
        self.count = min(length, max(1, most))
        edges = [length * i // max(1, self.count) for i in range(self.count + 1)]
        starts, ends = np.array(edges[:-1], dtype=int), np.array(edges[1:], dtype=int)
        widest = int((ends - starts).max(initial=0))
        places = starts[:, None] + np.arange(widest)
        self.ends = ends - 1  # the last place of each
        self.thinned = self.count < length
        self.inside = places < ends[:, None]  # (count, widest): a row ends where the next bucket begins
        self.places = np.minimum(places, ends[:, None] - 1)

    def band(self, column: NDArray[np.float64], steps: NDArray[np.int64], *, real: bool = False) -> Band:
        """Of `column`, a value or NaN at each place; `steps` says at which step each was.

        Of equal extremes the smallest is the first, the largest the last. `real` has the value of a bucket's last place
        instead of a mean.
        """
        last = column[self.ends]
        there = ~np.isnan(last)
        if not self.thinned:
            return {"mean": _where(there, last), "low": [], "high": [], "low_at": [], "high_at": []}
        values = column[self.places]
        present = self.inside & ~np.isnan(values)
        known = present.any(axis=1)
        at = steps[self.places]
        low, high = np.where(present, values, np.inf), np.where(present, values, -np.inf)
        lowest, highest = low.argmin(axis=1), high.shape[1] - 1 - high[:, ::-1].argmax(axis=1)
        mean = np.where(present, values, 0.0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        rows = np.arange(self.count)
        return {
            "mean": _where(there, last) if real else _where(known, mean),
            "low": _where(known, low[rows, lowest]),
            "high": _where(known, high[rows, highest]),
            "low_at": _where(known, at[rows, lowest]),
            "high_at": _where(known, at[rows, highest]),
        }


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    return [value if there else None for value, there in zip(values.tolist(), known.tolist(), strict=True)]
