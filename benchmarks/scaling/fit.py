"""Fits the cost of each unit of work to measured seconds, and reports how well it predicts held-out points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def costs(work: Vector, seconds: Vector) -> Vector:
    """Seconds a unit, none negative, `(terms,)`: of all such the ones with the least squared relative error.

    `work` is `(points, terms)` and `seconds` `(points,)`, all above 0. The best has some terms at 0 and is the least
    squares of the others, so each choice of terms is tried; there are few.
    """
    relative = work / seconds[:, None]
    terms = work.shape[1]
    best, least = np.zeros(terms), float(len(seconds))  # nothing costs anything: an error of 1 at each point
    for count in range(1, terms + 1):
        for chosen in map(list, combinations(range(terms), count)):
            scale = np.abs(relative[:, chosen]).max(axis=0)
            if not scale.all():
                continue
            found = np.linalg.lstsq(relative[:, chosen] / scale, np.ones(len(seconds)), rcond=None)[0] / scale
            error = float(((relative[:, chosen] @ found - 1) ** 2).sum())
            if (found >= 0).all() and error < least - 1e-12:
                best = np.zeros(terms)
                best[chosen] = found
                least = error
    return best


def relative_errors(found: Vector, work: Vector, seconds: Vector) -> Vector:
    """Predicted minus measured, over measured, `(points,)`."""
    return np.asarray(work @ found / seconds - 1)


def held_out_errors(work: Vector, seconds: Vector, groups: Sequence[str]) -> Vector:
    """The relative error at each point, predicted by a fit to the points of all other groups."""
    names = np.array(groups)
    errors = np.zeros(len(seconds))
    for name in dict.fromkeys(groups):
        out = names == name
        errors[out] = relative_errors(costs(work[~out], seconds[~out]), work[out], seconds[out])
    return errors
