"""Success rates: Wilson's interval for one, Newcombe's for the difference of two independent ones.

Closed forms on arrays, so that a leaderboard of 10,000 rows takes about a millisecond; scipy has Wilson's for one rate
at a time only, and Newcombe's not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.statistics.intervals import Interval

Floats = NDArray[np.float64]
LARGEST_Z, HALVINGS = 38.0, 50  # a p below 1e-300 is 0
Z95 = 1.959963984540054  # 97.5% quantile of the standard normal distribution
Z99 = 2.5758293035489004  # 99.5% quantile


def wilson(successes: float, trials: int) -> Interval:
    """95% score interval of a success rate (Wilson 1927). 5 of 10: 0.2366 to 0.7634.

    It stays within 0 and 1, and has a width at no or only successes too. No trials: (0, 1). `successes` may be a
    fraction, for rates that are themselves means over samples.
    """
    low, high = wilson_many(successes, trials)
    return Interval(float(low), float(high))


def wilson_many(successes: ArrayLike, trials: ArrayLike, z: ArrayLike = Z95) -> tuple[Floats, Floats]:
    """`wilson` of arrays that broadcast: lower and upper ends, in their common shape. `z` is the normal quantile."""
    k, n = _counts(successes, trials)
    return _score_ends(k, n, np.asarray(z, dtype=np.float64))


def _score_ends(k: Floats, n: Floats, z: Floats) -> tuple[Floats, Floats]:
    square = np.square(z)
    known = np.maximum(n, 1)  # no division by zero; what has no trials is set below
    rate = k / known
    scale = 1 + square / known
    centre = (rate + square / (2 * known)) / scale
    half = np.sqrt(square * (rate * (1 - rate) / known + square / (4 * known**2))) / scale
    low = np.where((k == 0) | (n == 0), 0.0, centre - half)  # exact ends, without rounding error
    high = np.where((k == n) | (n == 0), 1.0, centre + half)
    return low, high


def newcombe(successes: int, trials: int, other_successes: int, other_trials: int) -> Interval:
    """95% interval of `rate - other rate`, both from independent trials (Newcombe 1998, method 10).

    It combines the two Wilson intervals. Entries that played the same seeds are paired: `paired.paired_rates` is then
    narrower. 82 and 61 of 256: 0.0043 to 0.1585. A rate without trials is refused.
    """
    low, high = newcombe_many(successes, trials, other_successes, other_trials)
    return Interval(float(low), float(high))


def newcombe_many(
    successes: ArrayLike, trials: ArrayLike, other_successes: ArrayLike, other_trials: ArrayLike
) -> tuple[Floats, Floats]:
    """`newcombe` of arrays that broadcast, such as one entry against all others: lower and upper ends."""
    k, n = _counts(successes, trials)
    other_k, other_n = _counts(other_successes, other_trials)
    if not (n.all() and other_n.all()):
        raise ValueError("A difference of rates needs at least one trial on both sides; leave out what has none.")
    return difference_of_rates(k / n, wilson_many(k, n), other_k / other_n, wilson_many(other_k, other_n))


def newcombe_p_many(
    successes: ArrayLike, trials: ArrayLike, other_successes: ArrayLike, other_trials: ArrayLike
) -> Floats:
    """Two-sided p of no difference that agrees with `newcombe_many`: one minus the confidence at which an end is 0.

    The interval widens as the quantile z grows; the z at which the nearer one reaches 0 is found by halving. 82 and 61
    of 256: 0.0387.
    """
    from scipy.special import ndtr

    k, n = _counts(successes, trials)
    other_k, other_n = _counts(other_successes, other_trials)
    difference = np.abs(k / n - other_k / other_n)
    is_ahead = k / n >= other_k / other_n
    least, most = np.zeros_like(difference), np.full_like(difference, LARGEST_Z)
    for _ in range(HALVINGS):
        z = (least + most) / 2
        bounds, other_bounds = _score_ends(k, n, z), _score_ends(other_k, other_n, z)
        low, high = difference_of_rates(k / n, bounds, other_k / other_n, other_bounds)
        holds_zero = np.where(is_ahead, low <= 0, high >= 0)
        least, most = np.where(holds_zero, least, z), np.where(holds_zero, z, most)
    p: Floats = 2 * ndtr(-(least + most) / 2)
    return p


def difference_of_rates(
    rate: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], other: ArrayLike, other_bounds: tuple[ArrayLike, ArrayLike]
) -> tuple[Floats, Floats]:
    """`newcombe` where only the rates and their Wilson intervals are known: lower and upper ends."""
    rate, other = np.asarray(rate, dtype=np.float64), np.asarray(other, dtype=np.float64)
    (low, high), (other_low, other_high) = bounds, other_bounds
    below = np.hypot(rate - low, other_high - other)
    above = np.hypot(high - rate, other - other_low)
    return np.asarray(rate - other - below), np.asarray(rate - other + above)


def mean_of_rates(rates: Sequence[tuple[float, float, float]]) -> Interval:
    """95% interval of the mean of independent rates, each given with its own interval: (rate, low, high).

    Their distances to the ends are added in squares (method of variance estimates recovery, Zou and Donner 2008). Of
    one rate it is its own interval. (0.5, 0.4, 0.6) and (0.3, 0.2, 0.5): 0.3293 to 0.5118.
    """
    known = np.asarray(rates, dtype=np.float64)  # (R, 3)
    mean, count = known[:, 0].mean(), len(known)
    below = np.sqrt(np.square(known[:, 0] - known[:, 1]).sum()) / count
    above = np.sqrt(np.square(known[:, 2] - known[:, 0]).sum()) / count
    return Interval(float(max(0.0, mean - below)), float(min(1.0, mean + above)))


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    impossible = ~((k >= 0) & (k <= n))  # NaN too
    if impossible.any():
        worst = [np.broadcast_to(counts, impossible.shape)[impossible][0] for counts in (k, n)]
        raise ValueError(
            f"{worst[0]:g} successes in {worst[1]:g} trials are impossible; give 0 <= successes <= trials."
        )
    return k, n
