"""The Pareto front of results against what they cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pareto_front(cost: ArrayLike, score: ArrayLike) -> NDArray[np.bool_]:
    """Which of N points no other one dominates: none costs at most as much and scores at least as much, and is better
    in one of the two. Points that are equal in both are on the front together; NaN is never on it.

    The front is one of values: intervals of neighbours may overlap. O(N log N).
    """
    costs, scores = (np.asarray(values, dtype=np.float64) for values in (cost, score))
    known = np.flatnonzero(~np.isnan(costs) & ~np.isnan(scores))
    order = known[np.lexsort((-scores[known], costs[known]))]  # the cheapest first, of equal costs the best first
    sorted_costs, sorted_scores = costs[order], scores[order]
    best = np.maximum.accumulate(sorted_scores)
    before = np.concatenate([[-np.inf], best[:-1]])
    rises = sorted_scores > before
    again = np.zeros_like(rises)
    for index in np.flatnonzero(~rises & (sorted_scores == best)).tolist():  # equal to the one before, which is on it
        same = (sorted_costs[index], sorted_scores[index]) == (sorted_costs[index - 1], sorted_scores[index - 1])
        again[index] = same and (rises[index - 1] or again[index - 1])
    front = np.zeros(len(costs), dtype=bool)
    front[order[rises | again]] = True
    return front
