"""The mean over a group of runs at each step with a band: what they have in common, and how far they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from engine.statistics.means import t_quantile

BandKind = Literal["std", "se", "ci", "minmax"]
BANDS: tuple[BandKind, ...] = get_args(BandKind)
FEWEST = 2  # values that have a band
FEWEST_FOR_T = 3  # of two the 95% interval is twelve times as wide as their standard error, and shows nothing

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBand:
    """Columns of equal length. `low` and `high` are NaN where `count` is too small for the band."""

    mean: Column
    low: Column
    high: Column
    count: NDArray[np.int64]


def group_band(values: NDArray[np.float64], kind: BandKind) -> GroupBand:
    """Of `values`, (R, S): a row for each run, NaN where it has no value.

    `std` is the sample standard deviation, `se` that over √n, and `ci` Student's 95% interval of the mean.
    """
    there = ~np.isnan(values)  # (R, S)
    count = there.sum(axis=0)  # (S,)
    known = np.maximum(count, 1)
    mean = np.where(there, values, 0.0).sum(axis=0) / known
    mean[count == 0] = np.nan
    if kind == "minmax":
        low = np.where(there, values, np.inf).min(axis=0, initial=np.inf)
        high = np.where(there, values, -np.inf).max(axis=0, initial=-np.inf)
        fewest = FEWEST
    else:
        off = np.where(there, values - mean, 0.0)
        std = np.sqrt((off**2).sum(axis=0) / np.maximum(count - 1, 1))
        reach = std * _standard_deviations(kind, count)
        low, high = mean - reach, mean + reach
        fewest = FEWEST_FOR_T if kind == "ci" else FEWEST
    low[count < fewest] = high[count < fewest] = np.nan
    return GroupBand(mean=mean, low=low, high=high, count=count)


def _standard_deviations(kind: BandKind, count: NDArray[np.int64]) -> Column:
    """How many of them the band reaches to each side, by the number of values."""
    if kind == "std":
        return np.ones(len(count))
    roots = 1 / np.sqrt(np.maximum(count, 1))
    if kind == "se":
        return np.asarray(roots, dtype=np.float64)
    by_count = {int(one): t_quantile(int(one) - 1) if one >= FEWEST_FOR_T else 0.0 for one in np.unique(count)}
    return np.asarray(roots * [by_count[int(one)] for one in count], dtype=np.float64)
