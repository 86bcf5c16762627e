"""How much an outcome of runs goes with one setting: a rank correlation, and the share of its variance.

Both look at one setting at a time: with settings that were varied together, or chosen by a search, they show what
goes together and not what causes what. A sweep's own effects average over the other axes instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
SHUFFLES = 2000
FEWEST_CLUSTERS = 5  # below that a percentile bootstrap is far too narrow
FEWEST = 3  # values of a correlation


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """Spearman's ρ with a 95% interval, which is None with too few configurations."""

    rho: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectShare:
    """η²: the variance between the levels as a share of all variance. `by_chance` is its mean if outcomes are
    shuffled, and `p` how often that gives as much."""

    share: float
    by_chance: float
    p: float
    levels: int


def rank_correlation(
    values: Sequence[float], outcomes: Sequence[float], clusters: Sequence[Hashable], *, seed: int
) -> RankCorrelation | None:
    """Spearman 1904, with a percentile bootstrap over whole clusters: the seeds of a configuration are one.

    None if there are fewer than three runs, or either side is constant.
    """
    x, y = np.asarray(values, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    rho = _rho(x, y) if len(x) >= FEWEST else None
    if rho is None:
        return None
    members = [np.flatnonzero([one == key for one in clusters]) for key in dict.fromkeys(clusters)]
    if len(members) < FEWEST_CLUSTERS:
        return RankCorrelation(rho=rho, low=None, high=None)
    random = np.random.default_rng(seed)
    found = []
    for draw in random.integers(len(members), size=(RESAMPLES, len(members))):
        rows = np.concatenate([members[index] for index in draw])
        if (one := _rho(x[rows], y[rows])) is not None:  # a draw of one value has no correlation
            found.append(one)
    if not found:
        return RankCorrelation(rho=rho, low=None, high=None)
    low, high = np.quantile(found, [0.025, 0.975])
    return RankCorrelation(rho=rho, low=float(low), high=float(high))


def spearman(values: Sequence[float], outcomes: Sequence[float]) -> float | None:
    """Spearman's ρ alone; None if either side is constant."""
    return _rho(np.asarray(values, dtype=np.float64), np.asarray(outcomes, dtype=np.float64))


def effect_share(levels: Sequence[Hashable], outcomes: Sequence[float], *, seed: int) -> EffectShare | None:
    """One-way η² (Fisher 1925) with a permutation test. Over random orders its mean is exactly (k - 1) / (n - 1).

    None if there is one level, each run has its own, or outcomes are constant.
    """
    keys = list(dict.fromkeys(levels))
    y = np.asarray(outcomes, dtype=np.float64)
    if not 1 < len(keys) < len(y) or not float(np.ptp(y)):
        return None
    codes = np.array([keys.index(one) for one in levels])
    sizes = np.bincount(codes)
    total = float(((y - y.mean()) ** 2).sum())

    random = np.random.default_rng(seed)
    orders = random.permuted(np.tile(y, (SHUFFLES, 1)), axis=1)  # (SHUFFLES, R)
    of_level = np.eye(len(keys))[codes]  # (R, levels)
    means = np.vstack([y, orders]) @ of_level / sizes
    shares = (sizes * (means - y.mean()) ** 2).sum(axis=1) / total
    found = float(shares[0])
    as_much = int((shares[1:] >= found - 1e-12).sum())
    return EffectShare(
        share=found, by_chance=(len(keys) - 1) / (len(y) - 1), p=(1 + as_much) / (1 + SHUFFLES), levels=len(keys)
    )


def _rho(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    """Pearson's correlation of mean ranks."""
    if not float(np.ptp(x)) or not float(np.ptp(y)):
        return None
    one, other = _ranks(x), _ranks(y)
    one, other = one - one.mean(), other - other.mean()
    return float((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equal values share the mean of their ranks."""
    _, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return (last - (sizes - 1) / 2)[codes]
