"""Two entries that played the same seeds, compared seed by seed: they can differ significantly although their own
intervals overlap.

One episode per seed: `mcnemar` and `paired_rates`, from the discordant seeds, those that just one of the two solved.
Several episodes per seed, or returns: `paired_difference` or `sign_flip_test` on each seed's means, since episodes of
one seed are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.statistics.intervals import Interval
from engine.statistics.means import MeanDifference
from engine.statistics.proportions import Z95

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # what differences may differ by and still be called equal
HELD = 1_000_000  # resampled numbers in memory at once


class Pairs(NamedTuple):
    """Of every two of many entries, (N, N), row against column. `difference` is row - column, NaN where fewer than two
    problems are shared, in all or in one environment."""

    difference: Floats
    low: Floats  # ends of the 95% interval of the difference
    high: Floats
    p: Floats  # two-sided, of no difference
    shared: NDArray[np.int64]  # problems
    ahead: NDArray[np.int64]  # of them, those that the row has the higher score on
    behind: NDArray[np.int64]


def mcnemar(only_first: int, only_other: int) -> float:
    """Exact two-sided p of McNemar's test (McNemar 1947) from counts of discordant seeds. 25 and 12: 0.0470.

    It is the sign test on discordant seeds, min(1, 2 P(X <= min)) with X binomial at 1/2; 1 where there are none.
    """
    return float(mcnemar_many(only_first, only_other))


def mcnemar_many(only_first: ArrayLike, only_other: ArrayLike) -> Floats:
    """`mcnemar` of arrays that broadcast, such as a baseline against all other entries."""
    from scipy.special import bdtr

    first, other = _counts(only_first, only_other)
    tail: Floats = bdtr(np.minimum(first, other).astype(np.float64), first + other, 0.5)
    return np.minimum(1.0, 2 * tail)


def paired_rates(only_first: int, only_other: int, seeds: int) -> Interval:
    """95% interval of `first rate - other rate` over `seeds` shared ones (Bonett and Price 2012).

    Adds one to both discordant counts and two to the seeds, so that it has a width where no seed is discordant. 25 and
    12 of 256: 0.0033 to 0.0974.
    """
    low, high = paired_rates_many(only_first, only_other, seeds)
    return Interval(float(low), float(high))


def paired_rates_many(only_first: ArrayLike, only_other: ArrayLike, seeds: ArrayLike) -> tuple[Floats, Floats]:
    """`paired_rates` of arrays that broadcast: lower and upper ends, cut at -1 and 1."""
    difference, error = _adjusted_rates(only_first, only_other, seeds)
    return np.maximum(-1.0, difference - Z95 * error), np.minimum(1.0, difference + Z95 * error)


def paired_rates_p_many(only_first: ArrayLike, only_other: ArrayLike, seeds: ArrayLike) -> Floats:
    """Two-sided p of no difference that agrees with `paired_rates_many`: at most 0.05 where its interval has no 0.

    25 and 12 of 256: 0.0358. `mcnemar` is exact, and may differ from the interval where they are close.
    """
    from scipy.special import ndtr

    difference, error = _adjusted_rates(only_first, only_other, seeds)
    p: Floats = 2 * ndtr(-np.abs(difference) / error)
    return p


def _adjusted_rates(only_first: ArrayLike, only_other: ArrayLike, seeds: ArrayLike) -> tuple[Floats, Floats]:
    """The difference of the rates after one is added to both discordant counts, and its standard error."""
    first, other = _counts(only_first, only_other)
    n = np.asarray(seeds, dtype=np.float64)
    if not np.all((n >= 1) & (first + other <= n)):
        raise ValueError("There cannot be more discordant seeds than shared ones, of which there is one at least.")
    won, lost = (first + 1) / (n + 2), (other + 1) / (n + 2)
    return won - lost, np.sqrt((won + lost - (won - lost) ** 2) / (n + 2))


def paired_difference(scores: Sequence[float], other: Sequence[float]) -> MeanDifference:
    """Paired t test of `mean - other mean` (Student 1908; Miller 2024, arXiv 2411.00640, section 4), by seeds in order.

    Two shared seeds or more. Differences that are all equal have an interval of width 0, and a p of 1 at zero, else 0:
    for rates take `paired_rates`, which has no such case.
    """
    from scipy.stats import ttest_1samp

    differences = _differences(scores, other)
    mean, df = fmean(differences), len(differences) - 1
    if max(differences) - min(differences) <= ROUNDING:
        return MeanDifference(difference=mean, error=0.0, df=df, p=float(abs(mean) <= ROUNDING), low=mean, high=mean)
    test = ttest_1samp(differences, 0.0)
    low, high = test.confidence_interval(0.95)
    error = stdev(differences) / math.sqrt(len(differences))
    return MeanDifference(difference=mean, error=error, df=df, p=float(test.pvalue), low=float(low), high=float(high))


def sign_flip_test(scores: Sequence[float], other: Sequence[float], *, seed: int = 0, resamples: int = 20_000) -> float:
    """Two-sided p of no mean difference (Fisher 1935): twice the smaller tail over sign patterns of the differences.

    All 2^n patterns where these are at most `resamples`, else that many random ones, with the observed pattern counted.
    On zeros and ones it equals `mcnemar`. For few or skewed differences, where t is unreliable.
    """
    from scipy.stats import permutation_test

    differences = np.asarray(_differences(scores, other))
    test = permutation_test(
        (differences,),
        lambda sample, axis: np.mean(sample, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, HELD // max(1, len(differences))),
        rng=np.random.default_rng(seed),
    )
    return float(test.pvalue)


def _counts(only_first: ArrayLike, only_other: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, other = np.asarray(only_first, dtype=np.int64), np.asarray(only_other, dtype=np.int64)
    if (least := int(min(first.min(initial=0), other.min(initial=0)))) < 0:
        raise ValueError(f"{least} discordant seeds are impossible; give counts of 0 or more.")
    return first, other


def _differences(scores: Sequence[float], other: Sequence[float]) -> list[float]:
    if len(scores) != len(other):
        raise ValueError(f"{len(scores)} and {len(other)} scores are not paired; keep the seeds that both played.")
    if len(scores) < 2:
        raise ValueError(f"{len(scores)} shared seeds: a paired comparison needs two or more.")
    return [one - another for one, another in zip(scores, other, strict=True)]
