"""Two evaluations compared on the problems that both played, whichever else each of them played.

A problem is a cluster: its episodes are not independent, and two models find the same problems hard. So checkpoints of
one run, or runs on the same held-out problems, are compared problem by problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics.means import t_quantile
from engine.statistics.paired import paired_rates_many, paired_rates_p_many

Tally = Mapping[int, tuple[int, int]]  # episodes and successes by problem
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Method = Literal["one_episode", "several_episodes"]  # per problem
ROUNDING = 1e-7  # a standard error or a difference below this is zero
FEWEST = 2  # shared problems


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedProblems:
    """Success on `problems` shared ones and the difference `rate - other_rate` with its 95% interval."""

    problems: int
    rate: float
    other_rate: float
    low: float
    high: float
    p: float  # two-sided, of no difference: at most 0.05 where the interval has no 0
    method: Method

    @property
    def difference(self) -> float:
        return self.rate - self.other_rate

    @property
    def significant(self) -> bool:
        return not self.low <= 0 <= self.high


class Differences(NamedTuple):
    """Of one evaluation and many others, (N,): ends of 95% intervals, and two-sided p."""

    low: Floats
    high: Floats
    p: Floats


def compare_on_shared(first: Tally, other: Tally) -> SharedProblems | None:
    """None where fewer than two problems are shared.

    With one episode per problem, Bonett and Price's interval from discordant problems. Else the difference of the two
    rates over all episodes of shared problems, with a standard error clustered by problem (`_clustered`).
    """
    shared = sorted(first.keys() & other.keys())
    if len(shared) < FEWEST:
        return None
    n, k = np.array([first[problem] for problem in shared], dtype=np.float64).T  # (C,) episodes and successes
    other_n, other_k = np.array([other[problem] for problem in shared], dtype=np.float64).T
    rate, other_rate = float(k.sum() / n.sum()), float(other_k.sum() / other_n.sum())
    if n.max() == 1 and other_n.max() == 1:
        method: Method = "one_episode"
        found = _once(np.array([(k > other_k).sum()]), np.array([(k < other_k).sum()]), len(shared))
    else:
        method = "several_episodes"
        influence = (k - rate * n) / n.sum() - (other_k - other_rate * other_n) / other_n.sum()
        gain = k / n - other_k / other_n
        found = _clustered(
            np.array([rate - other_rate]),
            np.square(influence).sum(keepdims=True),
            np.array([(gain > ROUNDING).sum()]),
            np.array([(gain < -ROUNDING).sum()]),
            count=len(shared),
        )
    return SharedProblems(
        problems=len(shared),
        rate=rate,
        other_rate=other_rate,
        low=float(found.low[0]),
        high=float(found.high[0]),
        p=float(found.p[0]),
        method=method,
    )


def compare_with_many(first: NDArray[np.bool_], others: NDArray[np.bool_], problems: NDArray[np.uint64]) -> Differences:
    """The same for one evaluation against many on the same list of problems.

    `first` (E,) and `others` (N, E) say which episodes were solved, `problems` (E,) which problem each episode had; two
    problems at least.
    """
    distinct, index, sizes = np.unique(problems, return_inverse=True, return_counts=True)
    count, episodes = len(distinct), len(problems)
    if count < FEWEST:
        raise ValueError(f"{count} problem: a paired comparison needs {FEWEST} or more.")
    if count == episodes:
        return _once((first & ~others).sum(axis=1), (~first & others).sum(axis=1), episodes)
    gains = first.astype(np.int8) - others.astype(np.int8)  # (N, E)
    several = np.flatnonzero(sizes > 1)
    repeated = np.isin(index, several)
    once = gains[:, ~repeated]
    of_problem = (index[repeated][:, None] == several).astype(np.float32)  # most problems have one episode
    won = (gains[:, repeated].astype(np.float32) @ of_problem).astype(np.float64)  # (N, problems with several)
    difference = gains.sum(axis=1, dtype=np.int64) / episodes
    # the influence of a problem is (won - difference * size) / episodes; the sum of its squares, multiplied out
    squares = np.count_nonzero(once, axis=1) + np.square(won).sum(axis=1)
    products = once.sum(axis=1, dtype=np.int64) + won @ sizes[several]
    total = squares - 2 * difference * products + np.square(difference) * np.square(sizes).sum()
    ahead = (once > 0).sum(axis=1) + (won > 0).sum(axis=1)
    behind = (once < 0).sum(axis=1) + (won < 0).sum(axis=1)
    return _clustered(difference, np.maximum(0.0, total) / episodes**2, ahead, behind, count=count)


def _once(ahead: Counts, behind: Counts, count: int) -> Differences:
    """From the numbers of problems on which the first is ahead and behind, of `count`."""
    return Differences(*paired_rates_many(ahead, behind, count), paired_rates_p_many(ahead, behind, count))


def _clustered(difference: Floats, influences: Floats, ahead: Counts, behind: Counts, *, count: int) -> Differences:
    """t intervals and tests of `difference` (N,) with C-1 degrees of freedom, C = `count` problems, cut at -1 and 1.

    A problem's influence is what it adds to the difference of the two ratios beyond its share; with `influences` the
    sum of their squares, the standard error is sqrt(C/(C-1) influences), as `clustered.cluster_error` has it for one
    rate. Where that is zero, since all problems differ by the same, the interval is that of the problems on which the
    first is `ahead` or `behind`.
    """
    from scipy.special import stdtr

    error = np.sqrt(count / (count - 1) * influences)
    half = t_quantile(count - 1) * error
    low, high = np.maximum(-1.0, difference - half), np.minimum(1.0, difference + half)
    constant = error < ROUNDING
    p = 2 * stdtr(count - 1, -np.abs(difference) / np.where(constant, 1.0, error))
    same = _once(ahead, behind, count)
    pairs = zip((same.low, same.high, same.p), (low, high, p), strict=True)
    return Differences(*(np.where(constant, one, other) for one, other in pairs))


def tally(problems: NDArray[np.uint64], solved: NDArray[np.bool_]) -> dict[int, tuple[int, int]]:
    """Episodes and successes by problem."""
    found, index = np.unique(problems, return_inverse=True)
    episodes, successes = np.bincount(index), np.bincount(index, weights=solved).astype(int)
    return {int(problem): (int(n), int(k)) for problem, n, k in zip(found, episodes, successes, strict=True)}
