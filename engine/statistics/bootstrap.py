"""Bootstrap interval of a mean of any shape, such as returns, which are skewed.

A percentile bootstrap cannot leave the range of its data: of three training seeds it covers at most 75%. Below about
ten units take `means.t_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.statistics.intervals import Interval

HELD = 1_000_000  # resampled numbers in memory at once


def bootstrap_mean(clusters: Sequence[Sequence[float]], *, seed: int, resamples: int = 10_000) -> Interval:
    """95% percentile interval of the mean of all scores (Efron 1979); whole clusters are resampled, each a prompt's.

    Prompts may have different numbers of scores. The same data and `seed` give the same interval. Two clusters or more;
    if all means are equal the interval has width 0.
    """
    from scipy.stats import bootstrap

    if len(clusters) < 2 or any(not len(cluster) for cluster in clusters):
        raise ValueError("A bootstrap needs two prompts or more, each with at least one score.")
    sums = np.asarray([sum(cluster) for cluster in clusters], dtype=np.float64)  # (P,)
    sizes = np.asarray([len(cluster) for cluster in clusters], dtype=np.float64)  # (P,)
    found = bootstrap(
        (sums, sizes),
        lambda sums, sizes, axis: sums.sum(axis) / sizes.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, HELD // len(sums)),
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(found.low), float(found.high))
