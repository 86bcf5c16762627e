"""One configuration trained with several seeds, each evaluated on the same problems: what of its uncertainty comes from
the problems, and what from the seeds.

The two answer different questions, so each has its own interval. Five seeds of 256 problems are not 1,280 independent
trials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from engine.statistics.intervals import Interval
from engine.statistics.means import t_quantile

FEWEST = 2  # seeds, and problems


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoLevels:
    """Mean of `scores` (S, P) with standard errors of three questions, and variance components, none below 0.

    `over_problems`: these seeds on other problems. `over_seeds`: the configuration trained again, on these problems.
    `over_both`: trained again, on other problems. Their intervals are `problem_interval` and so on.
    """

    seeds: int
    problems: int
    mean: float
    over_problems: float
    over_seeds: float
    over_both: float
    both_df: float  # Satterthwaite's
    seed_variance: float
    problem_variance: float
    rest_variance: float  # interaction of the two, and sampling

    @property
    def problem_interval(self) -> Interval:
        return self._interval(self.over_problems, self.problems - 1)

    @property
    def seed_interval(self) -> Interval:
        return self._interval(self.over_seeds, self.seeds - 1)

    @property
    def both_interval(self) -> Interval:
        return self._interval(self.over_both, self.both_df)

    def _interval(self, error: float, df: float) -> Interval:
        half = t_quantile(df) * error if error else 0.0
        return Interval(self.mean - half, self.mean + half)


def two_levels(scores: ArrayLike) -> TwoLevels:
    """Analysis of variance of a crossed random-effects model, y_sp = m + a_s + b_p + e_sp (Searle et al. 1992).

    `scores` (S, P) has a score for each seed and problem, two seeds and two problems at least.
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or min(y.shape) < FEWEST or np.isnan(y).any():
        raise ValueError(f"Scores of shape {y.shape}: give two seeds and two problems or more, each with a score.")
    s, p = y.shape
    mean = float(y.mean())
    of_seed, of_problem = y.mean(axis=1), y.mean(axis=0)
    rest = y - of_seed[:, None] - of_problem[None, :] + mean
    seed_square = p * float(np.square(of_seed - mean).sum()) / (s - 1)
    problem_square = s * float(np.square(of_problem - mean).sum()) / (p - 1)
    rest_square = float(np.square(rest).sum()) / ((s - 1) * (p - 1))
    both = seed_square + problem_square - rest_square
    parts = seed_square**2 / (s - 1) + problem_square**2 / (p - 1) + rest_square**2 / ((s - 1) * (p - 1))
    larger, df = max((seed_square, s - 1), (problem_square, p - 1))
    if both > larger:  # else a variance component is estimated as 0
        larger, df = both, both**2 / parts
    return TwoLevels(
        seeds=s,
        problems=p,
        mean=mean,
        over_problems=math.sqrt(problem_square / (s * p)),
        over_seeds=math.sqrt(seed_square / (s * p)),
        over_both=math.sqrt(larger / (s * p)),
        both_df=df,
        seed_variance=max(0.0, (seed_square - rest_square) / p),
        problem_variance=max(0.0, (problem_square - rest_square) / s),
        rest_variance=rest_square,
    )
