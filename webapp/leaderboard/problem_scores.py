"""Entries by a measure problem by problem, from the bits of their items and stored totals: no file is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.statistics.all_pairs import compare_all
from engine.statistics.paired import Pairs
from engine.statistics.pass_at_k import pass_all_k_many, pass_at_k_many
from webapp.leaderboard.columns import COLUMNS, Column
from webapp.leaderboard.problem_totals import stored_totals
from webapp.suites.models import ItemResult

Floats = NDArray[np.float64]
Share = Callable[[Floats, Floats, int], Floats]  # of samples, successes and k


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemScores:
    """`scores` (N, P): what an entry has of a problem over its scored samples, NaN without one; of success the share
    that it solved. `weights` (N, P) are the episodes or responses that a score is the mean of, None where every problem
    weighs the same. `strata` are the numbers of problems of the items, in order."""

    entries: list[int]
    scores: Floats
    strata: list[int]
    weights: Floats | None = None

    def of(self, rows: Sequence[int]) -> ProblemScores:
        """The entries at these indices."""
        chosen = list(rows)
        return ProblemScores(
            entries=[self.entries[row] for row in chosen],
            scores=self.scores[chosen],
            strata=self.strata,
            weights=None if self.weights is None else self.weights[chosen],
        )

    def compared(self, others: ProblemScores | None = None) -> Pairs:
        """Each with each of `others`, or with each other."""
        others = others or self
        weights = None if self.weights is None or others.weights is None else (self.weights, others.weights)
        return compare_all(self.scores, others.scores, strata=self.strata, weights=weights)


NOTHING = ProblemScores(entries=[], scores=np.empty((0, 0)), strata=[])


def problem_scores(entries: Sequence[int], measure: Column = COLUMNS["success"]) -> ProblemScores:
    """Of entries with one comparability key, and so one order of problems; those without any score are left out."""
    found = _by_samples(entries, SHARES[measure.key]) if measure.key in SHARES else _by_totals(entries, measure)
    return found.of(np.flatnonzero(~np.isnan(found.scores).all(axis=1)).tolist()) if found.entries else NOTHING


def _by_samples(entries: Sequence[int], share: Share) -> ProblemScores:
    by_entry = _items(entries)
    kept = [pk for pk in entries if pk in by_entry]
    if not kept:
        return NOTHING
    first = by_entry[kept[0]]
    fewest = min(item.samples for item in first)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [share(*item_counts([by_entry[pk][order] for pk in kept]), fewest) for order in range(len(first))]
    return ProblemScores(entries=kept, scores=np.concatenate(parts, axis=1), strata=[item.problems for item in first])


def _by_totals(entries: Sequence[int], measure: Column) -> ProblemScores:
    by_entry = stored_totals(entries)
    kept = [pk for pk in entries if pk in by_entry]
    if not kept:
        return NOTHING
    fractions = [[item.fractions[measure.measure] for item in by_entry[pk]] for pk in kept]
    above, below = (np.stack([np.concatenate([item[part] for item in row]) for row in fractions]) for part in (0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.where(below > 0, above / below, np.nan)
    strata = [len(item.episodes) for item in by_entry[kept[0]]]
    return ProblemScores(entries=kept, scores=scores, strata=strata, weights=below)


SHARES: dict[str, Share] = {
    "success": lambda samples, successes, k: np.where(samples > 0, successes / samples, np.nan),
    "pass_at": pass_at_k_many,
    "pass_all": pass_all_k_many,
}


def item_counts(items: Sequence[ItemResult]) -> tuple[Floats, Floats]:
    """Scored samples and successes (N, P) of the same item of N evaluations."""
    solved, scored = samples_of(items)
    return scored.sum(axis=2).astype(np.float64), (solved & scored).sum(axis=2).astype(np.float64)


def samples_of(items: Sequence[ItemResult]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which samples were solved, and which have a score: (N, P, S) each."""
    shape = (len(items), items[0].problems, items[0].samples)
    solved, scored = (
        np.unpackbits(
            np.frombuffer(b"".join(bytes(part) for part in bits), dtype=np.uint8).reshape(len(items), -1),
            axis=1,
            count=shape[1] * shape[2],
        )
        .astype(bool)
        .reshape(shape)
        for bits in ([item.solved for item in items], [item.has_score for item in items])
    )
    return solved, scored


def _items(entries: Collection[int]) -> dict[int, list[ItemResult]]:
    rows = ItemResult.objects.filter(evaluation__in=entries).order_by("order")
    found: dict[int, list[ItemResult]] = defaultdict(list)
    for item in rows.only("evaluation_id", "order", "name", "problems", "samples", "solved", "has_score"):
        found[item.evaluation_id].append(item)
    return found
