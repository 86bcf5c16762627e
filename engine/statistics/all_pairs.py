"""Every two of many entries, compared on the problems that both have a score for.

A problem is the unit: its samples are not independent, so a problem with several of them has their mean. Everything is
a handful of matrix products over entries and problems, so that 200 entries of 512 problems take milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.statistics.paired import Pairs, mcnemar_many, paired_rates_many
from engine.statistics.weighted_pairs import Weighted, weighted_pairs

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
ROUNDING = 1e-7  # a standard error or a difference below this is zero
DIGITS = 9  # of a score
FEWEST = 2  # shared problems; entries with fewer are not compared, and have a p of 1


def compare_all(
    scores: ArrayLike,
    others: ArrayLike | None = None,
    *,
    strata: Sequence[int] | None = None,
    weights: tuple[ArrayLike, ArrayLike] | None = None,
) -> Pairs:
    """Compares each of `scores` (N, P) with each of `others` (M, P), or with each other; NaN is no score.

    A score is the share of a problem's samples that succeeded. Where all of two entries' shares are 0 or 1 the test is
    McNemar's exact one, with Bonett and Price's interval. Else it is the paired t test over problems (Miller 2024,
    arXiv 2411.00640, section 4), and where all problems differ by the same, so that t has no variance, the sign test.

    `strata` has the number of problems of each environment, in order: the difference is then the mean over
    environments, each with the same weight, by t with the variance within environments.

    With `weights`, of `scores` and of `others`, a score is any number and a mean is a ratio: see `weighted_pairs`.
    """
    rows = _rounded(scores)
    columns = rows if others is None else _rounded(others)
    sizes = strata or [rows.shape[1]]
    if weights is not None:
        return weighted_pairs(Weighted(rows, weights[0]), Weighted(columns, weights[1]), sizes)
    ends = np.cumsum(sizes)[:-1]
    parts = [_moments(*pair) for pair in zip(np.split(rows, ends, 1), np.split(columns, ends, 1), strict=True)]
    shared, ahead, behind = (sum(getattr(one, name) for one in parts) for name in ("shared", "ahead", "behind"))
    enough = np.logical_and.reduce([one.shared >= FEWEST for one in parts])
    mean = np.mean([one.mean for one in parts], axis=0)
    low, high, p = _by_signs(ahead, behind, np.maximum(shared, 1))
    takes_t = _takes_t(rows, columns) if len(parts) == 1 else np.ones_like(enough)
    if takes_t.any():
        variance = np.sum([one.variance for one in parts], axis=0) / len(parts) ** 2
        *by_t, error = _by_t(mean, variance, np.maximum(shared - len(parts), 1))
        takes_t = takes_t & (error >= ROUNDING)
        low, high, p = (np.where(takes_t, t, signs) for t, signs in zip(by_t, (low, high, p), strict=True))
    difference, low, high = (np.where(enough, one, np.nan) for one in (mean, low, high))
    return Pairs(difference, low, high, np.where(enough, p, 1.0), shared, ahead, behind)


class _Moments(NamedTuple):
    """Of one stratum, (N, M): means of the differences and the variances of these means, on shared problems."""

    mean: Floats
    variance: Floats
    shared: Counts
    ahead: Counts
    behind: Counts


def _moments(rows: Floats, columns: Floats) -> _Moments:
    known, value = ~np.isnan(rows), np.nan_to_num(rows)
    other_known, other_value = ~np.isnan(columns), np.nan_to_num(columns)
    seen, other_seen = known.astype(np.float64), other_known.astype(np.float64)
    shared = np.rint(seen @ other_seen.T).astype(np.int64)
    n = np.maximum(shared, 1)
    mean = (value @ other_seen.T - seen @ other_value.T) / n
    squares = value**2 @ other_seen.T + seen @ (other_value**2).T - 2 * value @ other_value.T
    variance = np.maximum(squares - n * mean**2, 0.0) / np.maximum(n - 1, 1) / n
    return _Moments(mean, variance, shared, *_signs(value, known, other_value, other_known))


def _takes_t(rows: Floats, columns: Floats) -> Flags:
    """Pairs (N, M) of which one has a score between 0 and 1."""
    return np.asarray(~(_whole(rows)[:, None] & _whole(columns)[None, :]))


def _rounded(scores: ArrayLike) -> Floats:
    """So that 1/3 is 1/3, however it was computed."""
    found: Floats = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    return found.round(DIGITS)


def _whole(scores: Floats) -> Flags:
    """Which entries (N,) have no score between 0 and 1."""
    return np.asarray((np.isnan(scores) | (scores == 0) | (scores == 1)).all(axis=1))


def _signs(value: Floats, known: Flags, other: Floats, other_known: Flags) -> tuple[Counts, Counts]:
    """On how many problems a row is ahead of a column, and behind: summed over the levels that a score has, since an
    array of entries by entries by problems would be too large."""
    ahead, behind = np.zeros((len(value), len(other))), np.zeros((len(value), len(other)))
    for level in np.unique(np.concatenate([value[known], other[other_known]])):
        ahead += _as_float(known & (value > level)) @ _as_float(other_known & (other == level)).T
        behind += _as_float(known & (value == level)) @ _as_float(other_known & (other > level)).T
    return np.rint(ahead).astype(np.int64), np.rint(behind).astype(np.int64)


def _as_float(mask: Flags) -> NDArray[np.float32]:
    return mask.astype(np.float32)


def _by_signs(ahead: Counts, behind: Counts, n: Counts) -> tuple[Floats, Floats, Floats]:
    low, high = paired_rates_many(ahead, behind, n)
    return low, high, mcnemar_many(ahead, behind)


def _by_t(mean: Floats, variance: Floats, df: Counts) -> tuple[Floats, Floats, Floats, Floats]:
    """Interval, p and standard error."""
    from scipy.special import stdtr, stdtrit

    error = np.sqrt(variance)
    levels, index = np.unique(df, return_inverse=True)  # mostly one, and quantiles are slow
    half = stdtrit(levels, 0.975)[index].reshape(df.shape) * error
    p = 2 * stdtr(df, -np.abs(mean) / np.where(error < ROUNDING, 1.0, error))
    return np.maximum(-1.0, mean - half), np.minimum(1.0, mean + half), p, error
