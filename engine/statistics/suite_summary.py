"""An entry of a leaderboard in numbers: from the samples of each problem to rates and means, each with an interval.

All intervals are over problems: what other problems of the same kind would give. The problem is the unit throughout, so
that a problem with more samples does not count for more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics.bootstrap import bootstrap_ratios
from engine.statistics.clustered import METHODS, ROUNDING, Method
from engine.statistics.means import t_quantile
from engine.statistics.pass_at_k import pass_all_k_many, pass_at_k_many, shown_k
from engine.statistics.proportions import wilson

Floats = NDArray[np.float64]
Key = tuple[str, int]  # a name, and the k of pass@k and pass^k
MEASURE = "measure "


class Estimate(NamedTuple):
    """A mean with its 95% interval; the ends are None below two problems."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTotals:
    """Of each problem (P,), in one order: its scored samples, how many succeeded, and further totals over them.

    `totals` has pairs of a numerator and a denominator by name, such as `return` over samples, or well-formed responses
    over responses.
    """

    samples: Floats
    successes: Floats
    totals: Mapping[str, tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSummary:
    problems: int  # with a score
    samples: int  # scored
    successes: int
    success: Estimate
    method: str  # of the interval of success
    measures: dict[str, Estimate]
    pass_at: dict[int, Estimate]
    pass_all: dict[int, Estimate]


def summarise_suite(found: ProblemTotals, *, planned: int, seed: int, resamples: int = 10_000) -> SuiteSummary | None:
    """None without a scored sample. `planned` is the number of samples per problem, and so the largest k.

    pass@k and pass^k are given where every problem has k scored samples: a mean over the others would be of other
    problems. `seed` decides the resamples, so that the same entry always has the same intervals.
    """
    kept = found.samples > 0
    if not kept.any():
        return None
    samples, successes = found.samples[kept], found.successes[kept]
    columns: dict[Key, tuple[Floats, Floats]] = {
        (MEASURE + name, 0): (above[kept], below[kept]) for name, (above, below) in found.totals.items()
    }
    ones = np.ones_like(samples)
    for k in shown_k(planned) if kept.all() and samples.min() >= planned else []:
        columns["pass_at", k] = (pass_at_k_many(samples, successes, k), ones)
        columns["pass_all", k] = (pass_all_k_many(samples, successes, k), ones)
    estimates = _estimates(columns, seed=seed, resamples=resamples)
    success, method = _success(samples, successes)
    return SuiteSummary(
        problems=len(samples),
        samples=int(samples.sum()),
        successes=int(successes.sum()),
        success=success,
        method=METHODS[method],
        measures={name.removeprefix(MEASURE): one for (name, k), one in estimates.items() if not k},
        pass_at={k: one for (name, k), one in estimates.items() if name == "pass_at"},
        pass_all={k: one for (name, k), one in estimates.items() if name == "pass_all"},
    )


def _success(samples: Floats, successes: Floats) -> tuple[Estimate, Method]:
    """`clustered.success_interval`, with each problem's share of successes as one score."""
    rates = successes / samples
    rate, problems = float(rates.mean()), len(rates)
    if samples.max() == 1:
        return Estimate(rate, *wilson(successes.sum(), problems)), "wilson"
    error = float(rates.std(ddof=1)) / math.sqrt(problems) if problems > 1 else 0.0
    if error < ROUNDING:
        return Estimate(rate, *wilson(rate * problems, problems)), "wilson_over_prompts"
    half = t_quantile(problems - 1) * error
    return Estimate(rate, max(0.0, rate - half), min(1.0, rate + half)), "t_over_prompts"


def _estimates(columns: Mapping[Key, tuple[Floats, Floats]], *, seed: int, resamples: int) -> dict[Key, Estimate]:
    """All on the same resamples. A column with nothing to divide by, such as responses of which there are none, is left
    out."""
    kept = {key: pair for key, pair in columns.items() if pair[1].sum() > 0 and not np.isnan(pair[0]).any()}
    if not kept:
        return {}
    above, below = (np.stack([pair[part] for pair in kept.values()], axis=1) for part in (0, 1))
    values = above.sum(axis=0) / below.sum(axis=0)
    if len(above) < 2:
        return {key: Estimate(float(value), None, None) for key, value in zip(kept, values, strict=True)}
    low, high = bootstrap_ratios(above, below, seed=seed, resamples=resamples)
    ends = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
    return {key: Estimate(*one) for key, one in zip(kept, ends, strict=True)}
