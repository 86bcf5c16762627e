"""One number over several environments and runs, after Agarwal et al. 2021 (arXiv 2108.13264).

`scores` are (runs, tasks), normalised so that tasks compare; success rates are so already.
"""

from __future__ import annotations

import numpy as np

from engine.statistics.bootstrap import Scores


def interquartile_mean(scores: Scores) -> float:
    """Mean of the middle half of all scores; floor(N/4) are cut from each end, so three scores lose none."""
    ordered = np.sort(scores, axis=None)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def optimality_gap(scores: Scores, *, goal: float = 1.0) -> float:
    """How far scores fall short of `goal` on average; what passes it earns nothing."""
    return float(goal - np.minimum(scores, goal).mean())


def performance_profile(scores: Scores, threshold: float) -> float:
    """Share of scores strictly above `threshold`."""
    return float((scores > threshold).mean())


def chance_of_improvement(scores: Scores, other: Scores) -> float:
    """Chance that a run of `scores` beats one of `other` on a task drawn at random; ties count half."""
    mine, its = scores[:, None, :], other[None, :, :]  # (runs, other runs, tasks)
    return float(((mine > its) + 0.5 * (mine == its)).mean())
