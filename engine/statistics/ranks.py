"""Ranks that say how sure they are: from which entries differ significantly, the ranks that each may have, and ties.

The matrix of pairs comes from `all_pairs`, its p-values adjusted together by `multiple_comparisons.holm`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.statistics.multiple_comparisons import holm

SIGNIFICANT = 0.05
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


def tie_groups(adjusted: Floats) -> list[tuple[int, int]]:
    """First and last index of each group of ties, of entries in the order of their rank.

    A group is a run of entries of which no two differ significantly, and which cannot be made longer. Groups overlap: A
    and B may be tied, B and C too, and A be better than C. An entry that is tied with no neighbour is its own group.
    """
    significant = adjusted <= SIGNIFICANT
    groups: list[tuple[int, int]] = []
    last = -1
    for first in range(len(adjusted)):
        end = max(first, last)
        while end + 1 < len(adjusted) and not significant[end + 1, first : end + 1].any():
            end += 1
        if end > last:
            groups.append((first, end))
            last = end
    return groups


def tie_letters(adjusted: Floats) -> list[str]:
    """The letters of each entry's groups, as in a compact letter display (Piepho 2004): entries with a letter in common
    do not differ significantly. An entry of more than three groups has the first and the last, as `c–h`."""
    found: list[list[str]] = [[] for _ in range(len(adjusted))]
    for number, (first, last) in enumerate(tie_groups(adjusted)):
        for index in range(first, last + 1):
            found[index].append(_letter(number))
    return ["".join(names) if len(names) <= 3 else f"{names[0]}–{names[-1]}" for names in found]


def _letter(number: int) -> str:
    """a to z, then aa, ab and so on."""
    name = ""
    while number >= 0:
        name = LETTERS[number % len(LETTERS)] + name
        number = number // len(LETTERS) - 1
    return name
