"""How entries stand to each other and to a baseline, with corrections for how many comparisons are looked at.

Up to `MOST_PAIRS` entries are compared with each other, two by two, which gives ranges of ranks and groups of ties.
Beyond that, the correction would leave little to see, so the shown ones are compared with the baseline only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.statistics.multiple_comparisons import holm
from engine.statistics.paired import Pairs
from engine.statistics.ranks import SIGNIFICANT, RankRange, holm_of_pairs, rank_ranges, tie_letters
from webapp.leaderboard.problem_scores import ProblemScores

Floats = NDArray[np.float64]
MOST_PAIRS = 100  # entries of which every two are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """An entry's value of the measure minus the baseline's, with its 95% interval; `p` is adjusted (Holm)."""

    difference: float
    low: float
    high: float
    p: float
    shared: int  # problems, or 0 where training seeds are compared
    ahead: int = 0
    behind: int = 0

    @property
    def significant(self) -> bool:
        return self.p <= SIGNIFICANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """`ranks` and `ties` are of comparisons of all pairs, else empty; `delta` is None for the baseline itself, and for
    what cannot be compared with it. `tied` with the baseline: a difference that is not significant."""

    ranks: RankRange | None = None
    ties: str = ""
    delta: Delta | None = None
    tied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """By key of the entry; `family` says in words what p-values are adjusted for."""

    of: dict[int, Standing] = field(default_factory=dict)
    family: str = ""


def standings(
    family: Sequence[int], found: ProblemScores, baseline: int | None, *, pinned: bool, fewer_is_better: bool = False
) -> Standings:
    """Of the entries of `family`, best first. The baseline may be outside of it."""
    known = {pk: index for index, pk in enumerate(found.entries)}
    listed = [pk for pk in family if pk in known]
    rows = found.of([known[pk] for pk in listed])
    against = _against(rows, found.of([known[baseline]]) if baseline in known else None, baseline)
    if len(listed) > MOST_PAIRS:
        return _standings(listed, {}, against, _words(len(listed), baseline in listed, pinned))
    pairs = rows.compared()
    adjusted = holm_of_pairs(pairs.p)
    better = -pairs.difference if fewer_is_better else pairs.difference
    whole = dict(zip(listed, zip(rank_ranges(better, adjusted), tie_letters(adjusted), strict=True), strict=True))
    if pinned or baseline not in listed:
        return _standings(listed, whole, against, _words(len(listed), baseline in listed, pinned, pairs=True))
    column = listed.index(baseline)
    best = _deltas(listed, _column(pairs, column), adjusted[:, column], baseline)
    return _standings(listed, whole, best, _words(len(listed), True, False, pairs=True))


def _against(rows: ProblemScores, base: ProblemScores | None, baseline: int | None) -> dict[int, Delta]:
    """Against the baseline, adjusted for these comparisons."""
    if base is None or not rows.entries:
        return {}
    pairs = rows.compared(base)
    others = [index for index, pk in enumerate(rows.entries) if pk != baseline]
    adjusted = np.ones(len(rows.entries))
    adjusted[others] = holm(pairs.p[others, 0])
    return _deltas(rows.entries, _column(pairs, 0), adjusted, baseline)


def _column(pairs: Pairs, column: int) -> Pairs:
    return Pairs._make(matrix[:, column] for matrix in pairs)


def _deltas(listed: list[int], column: Pairs, adjusted: Floats, baseline: int | None) -> dict[int, Delta]:
    found = {}
    for index, pk in enumerate(listed):
        if pk == baseline or np.isnan(column.difference[index]):
            continue
        found[pk] = Delta(
            difference=float(column.difference[index]),
            low=float(column.low[index]),
            high=float(column.high[index]),
            p=float(adjusted[index]),
            shared=int(column.shared[index]),
            ahead=int(column.ahead[index]),
            behind=int(column.behind[index]),
        )
    return found


def _standings(
    listed: list[int], whole: dict[int, tuple[RankRange, str]], against: dict[int, Delta], family: str
) -> Standings:
    of = {}
    for pk in listed:
        ranks, ties = whole.get(pk, (None, ""))
        delta = against.get(pk)
        of[pk] = Standing(ranks=ranks, ties=ties, delta=delta, tied=delta is not None and not delta.significant)
    return Standings(of=of, family=family)


def _words(count: int, includes_baseline: bool, pinned: bool, *, pairs: bool = False) -> str:
    comparisons = count - includes_baseline
    base = "the pinned baseline" if pinned else "the best"
    number = count * (count - 1) // 2
    all_pairs = f"all {number} pairs of the {count} rows" if number > 1 else f"the one pair of the {count} rows"
    against = f"differences to {base} for {comparisons} comparison{'' if comparisons == 1 else 's'}"
    if count < 2 and not comparisons:
        return ""
    if not pairs:
        return f"p adjusted (Holm): {against}. Ties of more than {MOST_PAIRS} rows are not computed: filter to see them"
    if not pinned:
        return f"p adjusted (Holm) for {all_pairs}"
    return f"p adjusted (Holm): ranks and ties for {all_pairs}; {against}"
