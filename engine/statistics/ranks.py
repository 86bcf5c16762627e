"""Ranks that say how sure they are: from which entries differ significantly, the ranks that each may have, and ties.

The matrix of pairs comes from `all_pairs`, its p-values adjusted together by `multiple_comparisons.holm`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics.multiple_comparisons import holm

SIGNIFICANT = 0.05
MOST_GROUPS = 52
LETTERS = "abcdefghijklmnopqrstuvwxyz"

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class RankRange(NamedTuple):
    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def holm_of_pairs(p: Floats) -> Floats:
    """Holm's adjustment of a symmetric matrix (N, N), over its N(N-1)/2 pairs; 1 on the diagonal."""
    upper = np.triu_indices(len(p), 1)
    adjusted = np.ones_like(p)
    adjusted[upper] = holm(p[upper])
    return np.minimum(adjusted, adjusted.T)


def rank_ranges(difference: Floats, adjusted: Floats) -> list[RankRange]:
    """Of each entry: 1 + those significantly better, to N - those significantly worse (Mogstad et al. 2024).

    `difference` (N, N) is row - column. With p-values adjusted for all pairs, all ranges hold together with 95%.
    """
    significant = adjusted <= SIGNIFICANT
    better, worse = (significant & (difference < 0)).sum(axis=1), (significant & (difference > 0)).sum(axis=1)
    return [
        RankRange(1 + ahead, len(adjusted) - behind)
        for ahead, behind in zip(better.tolist(), worse.tolist(), strict=True)
    ]


def tie_groups(adjusted: Floats) -> list[list[int]]:
    """The indices of each group of ties, of entries in the order of their rank: no two of a group differ significantly,
    and no other entry could join it.

    Two entries are in a group together if and only if they do not differ significantly. Groups overlap: A and B may be
    tied, B and C too, and A be better than C. Should there be more than `MOST_GROUPS`, only neighbours are grouped.
    """
    tied = adjusted > SIGNIFICANT
    runs = _runs(tied)
    together = np.zeros_like(tied)
    for group in runs:
        together[np.ix_(group, group)] = True
    if (together == (tied | np.eye(len(tied), dtype=bool))).all():
        return runs
    return _cliques(tied) or runs


def tie_letters(adjusted: Floats) -> list[str]:
    """The letters of each entry's groups, as in a compact letter display (Piepho 2004): entries with a letter in common
    do not differ significantly. Four or more that follow each other are shortened, as `c–h`."""
    found: list[list[int]] = [[] for _ in range(len(adjusted))]
    for number, group in enumerate(tie_groups(adjusted)):
        for index in group:
            found[index].append(number)
    return [_shown(numbers) for numbers in found]


def _runs(tied: Flags) -> list[list[int]]:
    """Groups of neighbours: all there are, unless noise is so unequal that A and C are tied and B is better than C."""
    groups: list[list[int]] = []
    last = -1
    for first in range(len(tied)):
        end = max(first, last)
        while end + 1 < len(tied) and tied[end + 1, first : end + 1].all():
            end += 1
        if end > last:
            groups.append(list(range(first, end + 1)))
            last = end
    return groups


def _cliques(tied: Flags) -> list[list[int]]:
    """All maximal sets of which every two are tied (Bron and Kerbosch 1973, with a pivot), as bits of integers; none if
    there are too many."""
    count = len(tied)
    near = [sum(1 << other for other in range(count) if other != one and tied[one, other]) for one in range(count)]
    found: list[int] = []

    def extend(chosen: int, candidates: int, done: int) -> bool:
        if not candidates and not done:
            found.append(chosen)
            return len(found) <= MOST_GROUPS
        pivot = max(_bits(candidates | done), key=lambda one: (near[one] & candidates).bit_count())
        for one in _bits(candidates & ~near[pivot]):
            if not extend(chosen | 1 << one, candidates & near[one], done & near[one]):
                return False
            candidates &= ~(1 << one)
            done |= 1 << one
        return True

    return sorted(_bits(group) for group in found) if extend(0, (1 << count) - 1, 0) else []


def _bits(number: int) -> list[int]:
    return [index for index in range(number.bit_length()) if number >> index & 1]


def _shown(numbers: list[int]) -> str:
    names = [_letter(number) for number in numbers]
    if len(numbers) > 3 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{names[0]}–{names[-1]}"
    return ("" if max(map(len, names)) == 1 else " ").join(names)


def _letter(number: int) -> str:
    """a to z, then aa, ab and so on."""
    name = ""
    while number >= 0:
        name = LETTERS[number % len(LETTERS)] + name
        number = number // len(LETTERS) - 1
    return name
