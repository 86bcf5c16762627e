"""Bootstrap intervals of means of any shape, such as returns, which are skewed, and pass@k.

A percentile bootstrap cannot leave the range of its data: of three training seeds it covers at most 75%. Below about
ten units take `means.t_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.statistics.intervals import Interval

Floats = NDArray[np.float64]
HELD = 1_000_000  # resampled numbers in memory at once
ENDS = (0.025, 0.975)


def bootstrap_mean(clusters: Sequence[Sequence[float]], *, seed: int, resamples: int = 10_000) -> Interval:
    """95% percentile interval of the mean of all scores (Efron 1979); whole clusters are resampled, each a prompt's.

    Prompts may have different numbers of scores. The same data and `seed` give the same interval. Two clusters or more;
    if all means are equal the interval has width 0.
    """
    if len(clusters) < 2 or any(not len(cluster) for cluster in clusters):
        raise ValueError("A bootstrap needs two prompts or more, each with at least one score.")
    sums, sizes = [[sum(cluster)] for cluster in clusters], [[len(cluster)] for cluster in clusters]
    low, high = bootstrap_ratios([(sums, sizes)], seed=seed, resamples=resamples)
    return Interval(float(low[0]), float(high[0]))


def bootstrap_ratios(
    strata: Sequence[tuple[ArrayLike, ArrayLike]], *, seed: int, resamples: int = 10_000
) -> tuple[Floats, Floats]:
    """`bootstrap_mean` of many columns on the same resamples: `sums` and `sizes` (P, M) of each prompt to ends (M,).

    A column is the sum of its `sums` over that of its `sizes`: the mean over prompts where each size is 1, the mean
    over episodes where it is their number. Of several strata, such as the environments of a suite, prompts are
    resampled within each, and a column is the mean over them, each with the same weight. A column has NaN where a
    resample has nothing to divide by.
    """
    stream = np.random.default_rng(seed)
    found = [_resampled(sums, sizes, stream, resamples) for sums, sizes in strata]
    low, high = np.quantile(np.mean(found, axis=0), ENDS, axis=0)
    return low, high


def _resampled(sums: ArrayLike, sizes: ArrayLike, stream: np.random.Generator, resamples: int) -> Floats:
    """The columns of each resample (R, M)."""
    numbers, counts = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    prompts = len(numbers)
    if prompts < 2 or numbers.shape != counts.shape:
        raise ValueError(f"{numbers.shape} and {counts.shape}: give two prompts or more, in arrays of one shape.")
    found = np.empty((resamples, numbers.shape[1]))
    batch = max(1, HELD // prompts)
    for start in range(0, resamples, batch):
        drawn = stream.integers(prompts, size=(min(batch, resamples - start), prompts))
        rows = len(drawn)
        cells = (drawn + np.arange(rows)[:, None] * prompts).ravel()
        weights = np.bincount(cells, minlength=rows * prompts).reshape(rows, prompts).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[start : start + rows] = (weights @ numbers) / (weights @ counts)
    return found
