"""Two entries that played the same seeds: compared seed by seed, which is where the power comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev

import numpy as np

from engine.statistics.student_t import t_quantile

EXACT_LIMIT = 16  # differences up to which all 2^n signs are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean of `first - other` over shared seeds with its 95% interval; `error` is its standard error."""

    mean: float
    error: float
    low: float
    high: float
    seeds: int


def paired_difference(first: Sequence[float], other: Sequence[float]) -> Difference:
    """t interval of the mean difference, seed by seed (Miller 2024, section 4). Both in the order of the same seeds."""
    differences = _differences(first, other)
    if len(differences) < 2:
        raise ValueError(f"{len(differences)} shared seeds say nothing about a difference; play two or more.")
    mean, error = fmean(differences), stdev(differences) / math.sqrt(len(differences))
    reach = t_quantile(len(differences) - 1) * error
    return Difference(mean=mean, error=error, low=mean - reach, high=mean + reach, seeds=len(differences))


def mcnemar(only_other: int, only_first: int, *, mid: bool = False) -> float:
    """Exact two-sided p of McNemar's test from the seeds that just one of two entries solved.

    It is the sign test on discordant pairs; 1 when there are none. `mid` subtracts half of each tail's own point,
    which is less conservative. 12 against 25: 0.0470.
    """
    if min(only_other, only_first) < 0:
        raise ValueError(f"{only_other} and {only_first} discordant seeds cannot be; give counts of 0 or more.")
    pairs, least = only_other + only_first, min(only_other, only_first)
    tail = 2 * sum(math.comb(pairs, wins) for wins in range(least + 1)) / (1 << pairs)
    point = math.comb(pairs, least) / (1 << pairs)
    if only_other == only_first:
        return 1 - point if mid and pairs else 1.0
    return tail - point if mid else min(1.0, tail)


def sign_flip_test(first: Sequence[float], other: Sequence[float], *, seed: int = 0, draws: int = 20_000) -> float:
    """Two-sided p that the mean difference is 0: shares of sign patterns at least as far from 0 as what was seen.

    All patterns up to 16 differences, else `draws` random ones, the observed one always included.
    """
    differences = np.asarray(_differences(first, other))
    seen = abs(differences.sum()) - 1e-9
    if len(differences) <= EXACT_LIMIT:
        signs = np.asarray(list(product((-1, 1), repeat=len(differences))))
        return float((np.abs(signs @ differences) >= seen).mean())
    stream = np.random.default_rng(seed)
    hits: int = sum(
        abs(float(stream.choice((-1.0, 1.0), size=len(differences)) @ differences)) >= seen for _ in range(draws)
    )
    return (hits + 1) / (draws + 1)


def _differences(first: Sequence[float], other: Sequence[float]) -> list[float]:
    if len(first) != len(other):
        raise ValueError(f"{len(first)} and {len(other)} scores are no pairs; keep the seeds that both played.")
    return [mine - its for mine, its in zip(first, other, strict=True)]
