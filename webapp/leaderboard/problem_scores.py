"""Outcomes of entries problem by problem, from the bits of their items: no file is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from webapp.suites.models import ItemResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemScores:
    """`scores` (N, P): the share of its scored samples that an entry solved of a problem, NaN without one. `strata` are
    the numbers of problems of the items, in order, and `names` theirs."""

    entries: list[int]
    scores: Floats
    names: list[str]
    strata: list[int]


def problem_scores(entries: Sequence[int]) -> ProblemScores:
    """Of entries with one comparability key, and so one order of problems; those whose items are gone are left out."""
    by_entry = _items(entries)
    kept = [pk for pk in entries if pk in by_entry]
    if not kept:
        return ProblemScores(entries=[], scores=np.empty((0, 0)), names=[], strata=[])
    parts = []
    for order in range(len(by_entry[kept[0]])):
        samples, successes = item_counts([by_entry[pk][order] for pk in kept])
        with np.errstate(invalid="ignore", divide="ignore"):
            parts.append(np.where(samples > 0, successes / samples, np.nan))
    first = by_entry[kept[0]]
    return ProblemScores(
        entries=kept,
        scores=np.concatenate(parts, axis=1),
        names=[item.name for item in first],
        strata=[item.problems for item in first],
    )


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
