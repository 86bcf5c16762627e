"""Rows of configurations: entries that differ only in their training seed, as one, with separate intervals for
seeds and for problems. `configurations.py` groups them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics.intervals import Interval
from engine.statistics.means import MeanDifference, welch, welch_all
from engine.statistics.multiple_comparisons import holm
from engine.statistics.ranks import holm_of_pairs, rank_ranges, tie_letters
from engine.statistics.seeds_and_problems import two_levels
from webapp.leaderboard.problem_scores import ProblemScores
from webapp.leaderboard.standings import MOST_PAIRS, Delta, Standing, Standings

Floats = NDArray[np.float64]
FEWEST = 2  # seeds of a configuration that is compared


class Listed(NamedTuple):
    """What a group needs of an entry; `value` is that of the measure."""

    pk: int
    value: float | None


@dataclass(slots=True, kw_only=True)
class SeedGroup:
    """`members` have different seeds; of a seed with several checkpoints it is the newest. The first stands for all.
    `rank` is by the mean of their values; groups with the same share one, and those of which a value is not known have
    none."""

    members: list[Listed]
    rank: int | None = None

    @property
    def key(self) -> int:
        return self.members[0].pk

    @property
    def scores(self) -> list[float]:
        return [one.value for one in self.members if one.value is not None]

    @property
    def mean(self) -> float | None:
        """None where one of the values is not known."""
        scores = self.scores
        return sum(scores) / len(scores) if len(scores) == len(self.members) else None

    @property
    def is_compared(self) -> bool:
        """With the others: one seed says nothing of how much seeds differ."""
        return len(self.members) >= FEWEST and self.mean is not None


def problem_interval(group: SeedGroup, found: ProblemScores) -> Interval | None:
    """What these trained models give on other problems; None where a problem lacks a score, of several items, or of
    one seed, whose own interval says it."""
    known = {pk: index for index, pk in enumerate(found.entries)}
    rows = [known[one.pk] for one in group.members if one.pk in known]
    if len(rows) < FEWEST or len(rows) < len(group.members) or len(found.strata) != 1:
        return None
    scores = found.scores[rows]
    if scores.shape[1] < FEWEST or np.isnan(scores).any():
        return None
    low, high = two_levels(scores).problem_interval
    return Interval(max(0.0, low), min(1.0, high))


def seed_standings(
    groups: Sequence[SeedGroup], baseline: SeedGroup | None, *, pinned: bool, fewer_is_better: bool = False
) -> Standings:
    """By Welch's test of the means over seeds. A configuration with one seed is not compared: one seed says nothing of
    how much seeds differ. Differences to the best are adjusted for all pairs, since the data chose it."""
    with_seeds = [group for group in groups if group.is_compared]
    of = {group.key: Standing() for group in groups}
    adjusted: Floats | None = None
    if len(with_seeds) <= MOST_PAIRS:
        difference, p = welch_all([group.scores for group in with_seeds])
        adjusted = holm_of_pairs(p)
        better = -difference if fewer_is_better else difference
        shown = zip(with_seeds, rank_ranges(better, adjusted), tie_letters(adjusted), strict=True)
        of |= {group.key: Standing(ranks=ranks, ties=ties) for group, ranks, ties in shown}
    if baseline is None or not baseline.is_compared:
        return Standings(of=of)
    keys = [group.key for group in with_seeds]
    deltas = {group.key: _delta(group, baseline) for group in with_seeds if group.key != baseline.key}
    known = {key: one for key, one in deltas.items() if one is not None}
    if pinned or adjusted is None or baseline.key not in keys:
        own = holm([one.p for one in known.values()]).tolist()
        base = "the pinned baseline" if pinned else "the best"
        family = f"p of differences to {base} adjusted (Holm) for {len(known)} comparisons"
    else:
        column = adjusted[:, keys.index(baseline.key)]
        own = [float(column[keys.index(key)]) for key in known]
        pairs = len(keys) * (len(keys) - 1) // 2
        family = f"p adjusted (Holm) for all {pairs} pairs of configurations with several seeds"
    for (key, one), p_value in zip(known.items(), own, strict=True):
        delta = Delta(difference=one.difference, low=one.low, high=one.high, p=p_value, shared=0)
        of[key] = Standing(ranks=of[key].ranks, ties=of[key].ties, delta=delta, tied=not delta.significant)
    return Standings(of=of, family=f"Welch's test over training seeds; {family}" if known else "")


def _delta(group: SeedGroup, baseline: SeedGroup) -> MeanDifference | None:
    """None where both are constant over seeds: there is no variance to test against."""
    constant = len({*group.scores}) == len({*baseline.scores}) == 1
    return None if constant else welch(group.scores, baseline.scores)
