"""Means of metrics over the updates of a step."""

from __future__ import annotations

from collections import defaultdict
from math import isfinite


class Meter:
    """Weighted means of metrics; of `…_max` the maximum. Non-finite values are left out."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = defaultdict(float)
        self.weights: dict[str, float] = defaultdict(float)
        self.skipped = 0  # updates

    def add(self, metrics: dict[str, float], *, weight: float) -> None:
        for name, value in metrics.items():
            if not isfinite(value):
                continue
            if name.endswith("_max"):
                self.sums[name], self.weights[name] = max(self.sums[name], value), 1.0
            else:
                self.sums[name] += value * weight
                self.weights[name] += weight

    def means(self) -> dict[str, float]:
        means = {name: total / self.weights[name] for name, total in self.sums.items() if self.weights[name]}
        return {**means, "optim/skipped_updates": float(self.skipped)}
