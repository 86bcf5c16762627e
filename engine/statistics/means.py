"""Means over few independent scores, such as one score per training seed: Student's t and Welch's test.

With three seeds, 1.96 standard errors instead of t make an interval 2.2 times too narrow. A bootstrap is no better
below about ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from engine.statistics.intervals import Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """Difference of two means with its standard error and 95% interval; `p` is two-sided, by t with `df`."""

    difference: float
    error: float
    df: float
    p: float
    low: float
    high: float


@lru_cache(maxsize=1024)  # few sample sizes, many rows
def t_quantile(df: float) -> float:
    """97.5% quantile of Student's t: how many standard errors a 95% interval reaches to each side. df 2: 4.302653."""
    from scipy.special import stdtrit

    if not df > 0:
        raise ValueError(f"{df} degrees of freedom: give more than 0.")
    return float(stdtrit(df, 0.975))


def variance(scores: Sequence[float]) -> float:
    """Of two scores or more, without bias (N - 1); exactly 0 where all are equal. `statistics.variance` counts in
    fractions, which takes ten times as long."""
    if min(scores) == max(scores):
        return 0.0
    mean = fmean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


def t_interval(scores: Sequence[float]) -> Interval | None:
    """95% interval of the mean of independent scores (Student 1908).

    None where they say nothing of the variance: below two, and where all are equal, for which the formula would give an
    interval of width 0, as if the mean were certain. `without_interval` puts that into words.
    """
    if len(scores) < 2 or not (found := variance(scores)):
        return None
    mean, half = fmean(scores), t_quantile(len(scores) - 1) * math.sqrt(found / len(scores))
    return Interval(mean - half, mean + half)


def without_interval(count: int, unit: str) -> str:
    """What a mean without an interval is over: `one seed`, `3 seeds, all equal`."""
    return f"{count} {unit}s, all equal" if count > 1 else f"one {unit}"


def difference_of_means(scores: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """`(mean - other mean, standard error)` of two independent samples of two scores or more; without scipy."""
    if min(len(scores), len(other)) < 2:
        raise ValueError(f"{len(scores)} and {len(other)} scores: a difference of means needs two or more of each.")
    error = math.sqrt(variance(scores) / len(scores) + variance(other) / len(other))
    return fmean(scores) - fmean(other), error


def welch(scores: Sequence[float], other: Sequence[float]) -> MeanDifference:
    """Welch's t test (Welch 1947), which allows for unequal variances and keeps its error rate at few seeds.

    Recommended for RL by Colas et al. 2019 (arXiv 1904.06979). Refused where both samples are constant: there is no
    variance to test against.
    """
    from scipy.special import stdtr

    difference, error = difference_of_means(scores, other)
    if not error:
        raise ValueError("Both samples are constant: there is no variance to test the difference against.")
    one, two = variance(scores) / len(scores), variance(other) / len(other)
    df = (one + two) ** 2 / (one**2 / (len(scores) - 1) + two**2 / (len(other) - 1))  # Satterthwaite's
    half = t_quantile(df) * error
    return MeanDifference(
        difference=difference,
        error=error,
        df=df,
        p=float(2 * stdtr(df, -abs(difference) / error)),
        low=difference - half,
        high=difference + half,
    )


def welch_all(samples: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
    """`welch` of every two of N samples: differences of means, row - column, and two-sided p (N, N).

    Two samples that are both constant have a p of 1, as there is no variance to test against.
    """
    from scipy.special import stdtr

    if min(map(len, samples), default=2) < 2:
        raise ValueError("A sample has fewer than two scores: give two or more of each.")
    mean = np.array([fmean(scores) for scores in samples])
    parts = np.array([variance(scores) / len(scores) for scores in samples])
    rest = np.array([len(scores) - 1.0 for scores in samples])
    difference = mean[:, None] - mean[None, :]
    squares = parts[:, None] + parts[None, :]
    constant = squares == 0
    known = np.where(constant, 1.0, squares)
    below = np.where(constant, 1.0, (parts**2 / rest)[:, None] + (parts**2 / rest)[None, :])
    p = 2 * stdtr(known**2 / below, -np.abs(difference) / np.sqrt(known))
    return difference, np.where(constant, 1.0, p)
