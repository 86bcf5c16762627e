"""Success over several samples per prompt: standard errors clustered by prompt.

Treating k samples of n prompts as k x n independent trials makes intervals up to three times too narrow (Miller 2024,
arXiv 2411.00640). A cluster is the list of one prompt's scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from engine.statistics.means import t_quantile
from engine.statistics.proportions import wilson

Clusters = Sequence[Sequence[float]]
Method = Literal["wilson", "t_over_prompts", "wilson_over_prompts"]
ROUNDING = 1e-12  # a standard error below this is zero
METHODS: dict[Method, str] = {
    "wilson": "Wilson, one episode per prompt",
    "t_over_prompts": "t over prompts, with standard errors clustered by prompt",
    "wilson_over_prompts": "Wilson over prompts, since all have the same success rate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessInterval:
    """A success rate with its 95% interval, and the method of the interval."""

    rate: float
    low: float
    high: float
    method: Method


def cluster_error(clusters: Clusters) -> float | None:
    """Standard error of the mean of all n scores, clustered by prompt: sqrt(C/(C-1) sum_c D_c^2) / n.

    D_c is the sum of a cluster's deviations from the overall mean (Miller 2024, with the small-sample factor C/(C-1)).
    With clusters of one size this is the standard deviation of the cluster means over sqrt(C). None below two clusters.
    """
    scores = [score for cluster in clusters for score in cluster]
    count = len(clusters)
    if count < 2:
        return None
    mean = fmean(scores)
    squares = sum((sum(cluster) - len(cluster) * mean) ** 2 for cluster in clusters)
    return math.sqrt(squares * count / (count - 1)) / len(scores)


def rerun_error(clusters: Clusters) -> float | None:
    """Standard error of the mean over the same prompts sampled again: the part that sampling responses contributes.

    sqrt(sum_c v_c / m_c) / C, with v_c the unbiased variance of the m_c scores within a cluster (Miller 2024).
    None where a cluster has fewer than two scores.
    """
    if not clusters or any(len(cluster) < 2 for cluster in clusters):
        return None
    within = 0.0
    for cluster in clusters:
        mean = fmean(cluster)
        within += sum((score - mean) ** 2 for score in cluster) / (len(cluster) - 1) / len(cluster)
    return math.sqrt(within) / len(clusters)


def success_interval(clusters: Clusters) -> SuccessInterval:
    """Success rate over `clusters` of zeros and ones, one or more per prompt, with a 95% interval over prompts.

    Wilson with one sample per prompt, else t with C-1 degrees of freedom, cut at 0 and 1. Where t has no width (one
    prompt, or the same rate on all) it is Wilson over prompts, with a fractional number of successes.
    """
    scores = [score for cluster in clusters for score in cluster]
    if not scores or any(not cluster for cluster in clusters):
        raise ValueError("Every prompt needs at least one scored sample; leave out those without, and report how many.")
    rate = fmean(scores)
    if len(scores) == len(clusters):
        return _wilson(rate, len(clusters), "wilson")
    error = cluster_error(clusters)
    if error is None or error < ROUNDING:
        return _wilson(rate, len(clusters), "wilson_over_prompts")
    half = t_quantile(len(clusters) - 1) * error
    return SuccessInterval(rate=rate, low=max(0.0, rate - half), high=min(1.0, rate + half), method="t_over_prompts")


def _wilson(rate: float, prompts: int, method: Method) -> SuccessInterval:
    low, high = wilson(rate * prompts, prompts)
    return SuccessInterval(rate=rate, low=low, high=high, method=method)
