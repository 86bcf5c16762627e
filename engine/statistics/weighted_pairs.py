"""Every two of many entries, compared by a measure that is a ratio of sums over problems: returns, turns or tokens of
an episode, or the share of responses that are well-formed. In `all_pairs` all problems weigh the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.statistics.paired import Pairs, mcnemar_many

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
ROUNDING = 1e-9  # times the largest score: a standard error below is zero
FEWEST = 2  # shared problems; entries with fewer are not compared, and have a p of 1


class Weighted(NamedTuple):
    """Scores (N, P), NaN without one, and what each weighs: episodes, or responses."""

    scores: ArrayLike
    weights: ArrayLike


def weighted_pairs(rows: Weighted, columns: Weighted, strata: Sequence[int]) -> Pairs:
    """Differences of weighted means over the problems that both have a score for, by t.

    The standard error is clustered by problem: with a mean R = sum a / sum b, a problem adds (a - R b) / sum b to it
    beyond its share, and to a difference of two that of the one minus that of the other; of C problems the variance is
    C/(C-1) times the sum of squares (Cameron and Miller 2015, section II). With equal weights it is the paired t test
    over problems. Where all problems differ by the same, t has no variance: p is that of the sign test, and the
    interval has no width. Of several strata the difference is their mean, each with the same weight.
    """
    from scipy.special import stdtr, stdtrit

    ends = np.cumsum(strata)[:-1]
    first, other = (_split(one, ends) for one in (rows, columns))
    parts = [_moments(*pair) for pair in zip(first, other, strict=True)]
    enough = np.logical_and.reduce([one.shared >= FEWEST for one in parts])
    shared, ahead, behind = (sum(getattr(one, name) for one in parts) for name in ("shared", "ahead", "behind"))
    mean = np.mean([one.mean for one in parts], axis=0)
    error = np.sqrt(np.sum([one.variance for one in parts], axis=0)) / len(parts)
    df = np.maximum(shared - len(parts), 1)
    levels, index = np.unique(df, return_inverse=True)
    half = stdtrit(levels, 0.975)[index].reshape(df.shape) * error
    scale = max((float(np.nanmax(np.abs(one.scores), initial=1.0)) for one in (*first, *other)), default=1.0)
    constant = error < ROUNDING * scale
    by_t = 2 * stdtr(df, -np.abs(mean) / np.where(constant, 1.0, error))
    p = np.where(constant, mcnemar_many(ahead, behind), by_t)
    low, high = (np.where(constant, mean, end) for end in (mean - half, mean + half))
    difference, low, high = (np.where(enough, one, np.nan) for one in (mean, low, high))
    return Pairs(difference, low, high, np.where(enough, p, 1.0), shared, ahead, behind)


class _Stratum(NamedTuple):
    scores: Floats
    weights: Floats  # 0 without a score


class _Moments(NamedTuple):
    """Of one stratum, (N, M): differences of weighted means, and the variances of these, on shared problems."""

    mean: Floats
    variance: Floats
    shared: Counts
    ahead: Counts
    behind: Counts


def _split(given: Weighted, ends: NDArray[np.int64]) -> list[_Stratum]:
    scores, weights = (np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in given)
    known = ~np.isnan(scores) & (np.nan_to_num(weights) > 0)
    parts = zip(np.split(np.where(known, scores, np.nan), ends, 1), np.split(np.where(known, weights, 0), ends, 1),
                strict=True)  # fmt: skip
    return [_Stratum(*part) for part in parts]


def _moments(rows: _Stratum, columns: _Stratum) -> _Moments:
    known, other_known = ((one.weights > 0).astype(np.float64) for one in (rows, columns))
    shared = np.rint(known @ other_known.T).astype(np.int64)
    centre = _centre(rows, columns)  # small numbers, so that little is lost in the differences of squares below
    b, other_b = rows.weights, columns.weights
    a, other_a = (np.nan_to_num(one.scores - centre) * one.weights for one in (rows, columns))
    size, other_size = b @ other_known.T, known @ other_b.T
    some = shared > 0
    below, other_below = np.where(some, size, 1.0), np.where(some, other_size, 1.0)
    ratio, other_ratio = (a @ other_known.T) / below, (known @ other_a.T) / other_below
    own = a**2 @ other_known.T - 2 * ratio * ((a * b) @ other_known.T) + ratio**2 * (b**2 @ other_known.T)
    its = known @ (other_a**2).T - 2 * other_ratio * (known @ (other_a * other_b).T)
    its += other_ratio**2 * (known @ (other_b**2).T)
    both = a @ other_a.T - ratio * (b @ other_a.T) - other_ratio * (a @ other_b.T)
    both += ratio * other_ratio * (b @ other_b.T)
    squares = own / below**2 + its / other_below**2 - 2 * both / (below * other_below)
    count = np.maximum(shared, FEWEST)
    ahead, behind = _signs(rows.scores, columns.scores)
    return _Moments(ratio - other_ratio, np.maximum(squares, 0.0) * count / (count - 1), shared, ahead, behind)


def _centre(rows: _Stratum, columns: _Stratum) -> float:
    total = rows.weights.sum() + columns.weights.sum()
    above = sum(float((np.nan_to_num(one.scores) * one.weights).sum()) for one in (rows, columns))
    return above / total if total else 0.0


def _signs(scores: Floats, others: Floats) -> tuple[Counts, Counts]:
    """On how many problems a row is ahead of a column, and behind; a comparison with NaN is false."""
    ahead = [np.count_nonzero(row > others, axis=1) for row in scores]
    behind = [np.count_nonzero(row < others, axis=1) for row in scores]
    shape = (len(scores), len(others))
    return np.array(ahead, dtype=np.int64).reshape(shape), np.array(behind, dtype=np.int64).reshape(shape)
