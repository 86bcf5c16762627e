"""The measures of an evaluation beside success, each with an interval over problems: returns, turns, pass@k and others.

The interval says what other problems of the same kind would give; training seeds are another question
(`seeds_and_problems`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics.bootstrap import bootstrap_ratios
from engine.statistics.intervals import Interval
from engine.statistics.pass_at_k import pass_all_k_many, pass_at_k_many, shown_k
from engine.statistics.proportions import mean_of_rates, wilson

Floats = NDArray[np.float64]
PASS_AT, PASS_ALL = "pass@{}", "pass^{}"
SHARES = ("pass@", "pass^")  # how names of shares begin, beside those that are given
FEWEST = 2  # problems, for an interval
ROUNDING = 1e-12  # an interval narrower than this has no width


class Estimate(NamedTuple):
    """A mean with its 95% interval; the ends are None where there is too little for one."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """One environment: of each problem (P,), in one order, its scored samples and how many of them succeeded.

    `totals` has a numerator and a denominator for each measure, such as turns and episodes, or well-formed responses
    and responses. `planned` samples per problem is the largest k.
    """

    planned: int
    samples: Floats
    successes: Floats
    totals: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)


def measured(
    environments: Sequence[Tallies], *, seed: int, resamples: int = 10_000, shares: Collection[str] = ()
) -> dict[str, Estimate]:
    """Each measure that every environment has, as the mean over environments, with a bootstrap interval over problems.

    pass@k and pass^k, as `pass@4` and `pass^4`, are given where every problem has its planned samples: a mean over the
    others would be one over other problems. All measures have the same resamples, which `seed` decides.

    Where all problems have the same, resampling says nothing of others: pass@k, pass^k and the `shares`, which lie
    between 0 and 1, then have Wilson's interval over problems, and the rest none.
    """
    columns = [_columns(one) for one in environments]
    names = [name for name in columns[0] if all(name in others for others in columns)] if columns else []
    if not names:
        return {}
    strata = [tuple(np.stack([one[name][part] for name in names], axis=1) for part in (0, 1)) for one in columns]
    values = np.mean([above.sum(axis=0) / below.sum(axis=0) for above, below in strata], axis=0).tolist()
    if any(len(above) < FEWEST for above, _ in strata):
        return {name: Estimate(value, None, None) for name, value in zip(names, values, strict=True)}
    low, high = bootstrap_ratios([(above, below) for above, below in strata], seed=seed, resamples=resamples)
    found = {}
    for index, name in enumerate(names):
        value, ends = values[index], (float(low[index]), float(high[index]))
        if np.isnan(ends).any():  # a resample had nothing to divide by
            found[name] = Estimate(value, None, None)
        elif ends[1] - ends[0] > ROUNDING:
            found[name] = Estimate(value, *ends)
        elif name in shares or name.startswith(SHARES):
            found[name] = Estimate(value, *_wilson([(above[:, index], below[:, index]) for above, below in strata]))
        else:
            found[name] = Estimate(value, None, None)
    return found


def _wilson(strata: Sequence[tuple[Floats, Floats]]) -> Interval:
    """Of a share that is the same in all problems: a problem is a trial, as the episodes of one are not independent."""
    rates = [(float(above.sum() / below.sum()), len(above)) for above, below in strata]
    return mean_of_rates([(rate, *wilson(rate * problems, problems)) for rate, problems in rates])


def _columns(found: Tallies) -> dict[str, tuple[Floats, Floats]]:
    """Numerators and denominators by measure, without one of which nothing is known."""
    kept = found.samples > 0
    columns = {name: (above[kept], below[kept]) for name, (above, below) in found.totals.items()}
    columns = {name: pair for name, pair in columns.items() if pair[1].sum() > 0 and not np.isnan(pair[0]).any()}
    if not kept.any() or found.samples.min() < found.planned:
        return columns
    ones = np.ones_like(found.samples)
    for k in shown_k(found.planned):
        columns[PASS_AT.format(k)] = (pass_at_k_many(found.samples, found.successes, k), ones)
        columns[PASS_ALL.format(k)] = (pass_all_k_many(found.samples, found.successes, k), ones)
    return columns
