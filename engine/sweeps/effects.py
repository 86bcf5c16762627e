"""What the results of a sweep say: the effect of each axis, pairs of axes, and the best configuration.

The unit is the training seed. A mean over points is taken seed by seed first, and its 95% t interval is over those
means of seeds, since two runs with the same seed share problems and their order. Seeds that lack a run of what is
averaged are left out, so that a sweep in progress compares like with like.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from engine.statistics.means import t_interval, welch
from engine.statistics.multiple_comparisons import holm
from engine.sweeps.points import Point

MOST_COMPARED = 30  # configurations that are compared with each other, two by two
SIGNIFICANT = 0.05

Scores = Mapping[tuple[str, int], float]  # by key of the point and seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over `runs` runs. Without a complete seed it is over those that there are, and has no interval. Nor has
    one over a single seed, or over several whose means are equal."""

    mean: float
    low: float | None
    high: float | None
    seeds: int  # complete ones
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """`equals` are points that are not significantly different from the best, in order of their means, without it; None
    if they were not compared: too few seeds, or too many configurations."""

    point: Point
    estimate: Estimate
    equals: list[Point] | None
    compared: int  # configurations


def estimate(points: Sequence[Point], seeds: Sequence[int], scores: Scores) -> Estimate | None:
    """The mean over `points`; None without a result."""
    means = []
    for seed in seeds:
        found = [scores[point.key, seed] for point in points if (point.key, seed) in scores]
        if found and len(found) == len(points):
            means.append(fmean(found))
    if means:
        interval = t_interval(means)
        low, high = interval if interval is not None else (None, None)
        return Estimate(mean=fmean(means), low=low, high=high, seeds=len(means), runs=len(means) * len(points))
    present = [scores[point.key, seed] for point in points for seed in seeds if (point.key, seed) in scores]
    return Estimate(mean=fmean(present), low=None, high=None, seeds=0, runs=len(present)) if present else None


def effect(axis: str, points: Sequence[Point], seeds: Sequence[int], scores: Scores) -> dict[str, Estimate | None]:
    """By level of the axis the mean over all other axes and seeds."""
    levels = dict.fromkeys(point.labels[axis] for point in points)
    return {
        level: estimate([point for point in points if point.labels[axis] == level], seeds, scores) for level in levels
    }


def interaction(
    across: str, down: str, points: Sequence[Point], seeds: Sequence[int], scores: Scores
) -> dict[tuple[str, str], Estimate | None]:
    """By level of `across` and of `down` the mean over the other axes and seeds."""
    cells: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        cells.setdefault((point.labels[across], point.labels[down]), []).append(point)
    return {key: estimate(found, seeds, scores) for key, found in cells.items()}


def best(points: Sequence[Point], seeds: Sequence[int], scores: Scores) -> Best | None:
    """The highest mean among the configurations with most seeds. A highest mean of several is too high on average: its
    value is chosen for its luck as well."""
    found = {point.key: one for point in points if (one := estimate([point], seeds, scores)) is not None}
    if not found:
        return None
    most = max(one.seeds for one in found.values())
    ranked = sorted(
        (point for point in points if point.key in found and found[point.key].seeds == most),
        key=lambda point: -found[point.key].mean,
    )
    return Best(
        point=ranked[0],
        estimate=found[ranked[0].key],
        equals=_equals(ranked, seeds, scores),
        compared=len(ranked),
    )


def _equals(ranked: Sequence[Point], seeds: Sequence[int], scores: Scores) -> list[Point] | None:
    """By Welch's test between any two, corrected after Holm: testing all against the best of them alone would favour
    what was lucky."""
    samples = [[scores[point.key, seed] for seed in seeds if (point.key, seed) in scores] for point in ranked]
    if not 1 < len(ranked) <= MOST_COMPARED or min(len(sample) for sample in samples) < 2:
        return None
    pairs = list(itertools.combinations(range(len(ranked)), 2))
    adjusted = holm([_p(samples[one], samples[other]) for one, other in pairs])
    different = {other for (one, other), p in zip(pairs, adjusted, strict=True) if one == 0 and p <= SIGNIFICANT}
    return [point for index, point in enumerate(ranked) if index and index not in different]


def _p(scores: Sequence[float], other: Sequence[float]) -> float:
    """Samples without variance show no difference that could be tested."""
    if len({*scores}) == 1 and len({*other}) == 1:
        return 1.0
    return welch(scores, other).p
