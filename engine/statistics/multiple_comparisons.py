"""Many comparisons at once: adjusted p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjustment (Holm 1979), in the order given: p-values (M,) to adjusted p-values (M,).

    Those at most 0.05 are significant together: the chance of one false claim or more stays below 5%, however the tests
    depend on each other. M counts every comparison that was looked at. scipy has no Holm.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("A p-value lies between 0 and 1; leave out comparisons that have none.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted
