"""Training seeds of a configuration, and two configurations: few runs, so t and Welch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev, variance

from engine.statistics.student_t import t_quantile, t_tail


@dataclass(frozen=True, slots=True, kw_only=True)
class WelchTest:
    """Difference of two means with unequal variances; `p` is two-sided, `low` and `high` the 95% interval."""

    difference: float
    error: float
    df: float
    p: float
    low: float
    high: float


def mean_over_runs(scores: Sequence[float]) -> tuple[float, float, float] | None:
    """`(mean, low, high)` over one score a training seed, by t. None for one seed: it says nothing of the method."""
    if len(scores) < 2:
        return None
    mean = fmean(scores)
    reach = t_quantile(len(scores) - 1) * stdev(scores) / math.sqrt(len(scores))
    return mean, mean - reach, mean + reach


def welch(first: Sequence[float], other: Sequence[float]) -> WelchTest:
    """Welch's t test, the one that keeps its error rate at few seeds (Colas et al. 2019, arXiv 1904.06979)."""
    parts = [variance(scores) / len(scores) for scores in (first, other)]
    total = sum(parts)
    if not total:
        raise ValueError("All runs of both scored the same: there is no spread to test against.")
    df = total**2 / (parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(other) - 1))
    difference, error = fmean(first) - fmean(other), math.sqrt(total)
    reach = t_quantile(df) * error
    return WelchTest(
        difference=difference,
        error=error,
        df=df,
        p=t_tail(difference / error, df),
        low=difference - reach,
        high=difference + reach,
    )


def permutation_of_means(first: Sequence[float], other: Sequence[float]) -> float:
    """Exact two-sided p: the share of ways to deal out the runs whose means differ at least as much."""
    pooled = [*first, *other]
    total, seen = math.fsum(pooled), abs(fmean(first) - fmean(other)) - 1e-12
    apart = [
        abs(dealt / len(first) - (total - dealt) / len(other)) >= seen
        for dealt in (math.fsum(chosen) for chosen in combinations(pooled, len(first)))
    ]
    return sum(apart) / len(apart)
