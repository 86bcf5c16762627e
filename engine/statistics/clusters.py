"""A mean over several samples a prompt. Samples of one prompt are alike, so prompts are counted, not samples.

Treating k samples of n prompts as k x n independent trials makes intervals up to three times too narrow (Miller 2024,
arXiv 2411.00640). Here a cluster is the list of one prompt's scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from engine.diagnostics.statistics import wilson_interval
from engine.statistics.student_t import t_quantile

Clusters = Sequence[Sequence[float]]
Method = Literal["wilson", "t_over_prompts", "wilson_over_prompts"]
ROUNDING = 1e-12  # what equal rates of several prompts may differ by
METHODS: dict[Method, str] = {
    "wilson": "Wilson's, one episode a prompt",
    "t_over_prompts": "t over prompts: samples of a prompt count as one cluster",
    "wilson_over_prompts": "Wilson's, each prompt counted once: all scored alike, which t would take for certainty",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessInterval:
    """A success rate in 0 to 1 with its 95% interval, and by which method."""

    rate: float
    low: float
    high: float
    method: Method


def cluster_error(clusters: Clusters) -> float | None:
    """Standard error of the mean of all scores, with prompts drawn at random: sqrt(C/(C-1) sum_c D_c^2) / n.

    D_c is the sum of a cluster's deviations from the overall mean. With clusters of one size this is the standard
    deviation of the cluster means over sqrt(C). None below two clusters.
    """
    scores = [score for cluster in clusters for score in cluster]
    count = len(clusters)
    if count < 2:
        return None
    mean = fmean(scores)
    squares = sum((sum(cluster) - len(cluster) * mean) ** 2 for cluster in clusters)
    return math.sqrt(squares * count / (count - 1)) / len(scores)


def rerun_error(clusters: Clusters) -> float | None:
    """Standard error of the mean if the same prompts were asked again: what sampling alone does.

    sqrt(sum_c v_c / m_c) / C with v_c the variance within a cluster (m_c - 1 below). None with a cluster of one.
    """
    if not clusters or any(len(cluster) < 2 for cluster in clusters):
        return None
    within = 0.0
    for cluster in clusters:
        mean = fmean(cluster)
        within += sum((score - mean) ** 2 for score in cluster) / (len(cluster) - 1) / len(cluster)
    return math.sqrt(within) / len(clusters)


def success_interval(clusters: Clusters) -> SuccessInterval:
    """Success rate over `clusters` of zeros and ones, at least one of each prompt, with a 95% interval over prompts."""
    scores = [score for cluster in clusters for score in cluster]
    if not scores or any(not cluster for cluster in clusters):
        raise ValueError("A prompt without a sample has no success rate; leave it out, and say so.")
    rate = fmean(scores)
    if len(scores) == len(clusters):
        return _wilson(rate, len(clusters), "wilson")
    error = cluster_error(clusters)
    if error is None or error < ROUNDING:  # one prompt, or all alike: a width of zero would claim certainty
        return _wilson(rate, len(clusters), "wilson_over_prompts")
    reach = t_quantile(len(clusters) - 1) * error
    return SuccessInterval(rate=rate, low=max(0.0, rate - reach), high=min(1.0, rate + reach), method="t_over_prompts")


def _wilson(rate: float, prompts: int, method: Method) -> SuccessInterval:
    low, high = wilson_interval(rate * prompts, prompts)
    return SuccessInterval(rate=rate, low=low, high=high, method=method)
